// Anchor of the precompiled headers that test programs share.
