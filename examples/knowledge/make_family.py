#!/usr/bin/env python3
"""Writes family/{train,valid,test}.txt: a made-up knowledge graph of 8 villages, four generations each, 'head relation tail' on each line,
parted by tabs. Some relations follow from others, so a model can complete what was left out. The same files on every machine."""
from pathlib import Path


class Draws:
    """A small generator of its own (Numerical Recipes' constants), so that the files do not depend on Python's version."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) * n >> 24


def village(number, draws, triples):
    place = f'village{number}'
    generation = [(f'v{number}m{i}', f'v{number}w{i}') for i in range(4)]  # couples
    born = 0
    for depth in range(4):
        children = []
        for man, woman in generation:
            triples += [(man, 'married_to', woman), (woman, 'married_to', man)]
            own = []
            for _ in range(2 + draws.below(2) if depth < 3 else 0):
                child = f'v{number}{"mw"[born % 2]}c{born}'
                born += 1
                own.append(child)
                triples += [(man, 'father_of', child), (woman, 'mother_of', child), (child, 'child_of', man),
                            (child, 'child_of', woman)]
            triples += [(a, 'sibling_of', b) for a in own for b in own if a != b]
            children.append(own)
            for who in (man, woman):
                triples.append((who, 'lives_in', place))
                triples.append((who, 'works_as', f'trade{(number + depth + draws.below(2)) % 9}'))
        # Sons of one couple marry daughters of the next.
        generation = []
        for own, others in zip(children, children[1:] + children[:1]):
            men = [c for c in own if c[2] == 'm']
            women = [c for c in others if c[2] == 'w']
            generation += list(zip(men, women))
        generation = generation[:6]


def main():
    draws = Draws(7)
    triples = []
    for number in range(8):
        village(number, draws, triples)
    for i in range(len(triples) - 1, 0, -1):  # Fisher and Yates
        j = draws.below(i + 1)
        triples[i], triples[j] = triples[j], triples[i]
    known, train, others = set(), [], []
    for triple in triples:  # what is left out has ends that training knows
        ends = {triple[0], triple[2]}
        if ends <= known and len(others) < len(triples) // 8:
            others.append(triple)
        else:
            train.append(triple)
            known |= ends
    folder = Path(__file__).parent / 'family'
    folder.mkdir(exist_ok=True)
    half = len(others) // 2
    for name, some in (('train', train), ('valid', others[:half]), ('test', others[half:])):
        (folder / f'{name}.txt').write_text(''.join('\t'.join(t) + '\n' for t in some))
        print(f'{name}: {len(some)} triples')


if __name__ == '__main__':
    main()
