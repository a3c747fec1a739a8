"""What calls of a session raise."""


class Error(Exception):
    """A call of a session has failed. `code` is the name of the kind: "invalid_argument", "not_found", "peer_lost", …"""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Cancelled(Error):
    """The run was asked to end, by Ctrl-C or because another rank has failed: clean up and let it pass."""


def error_of(code, text):
    return (Cancelled if code == "cancelled" else Error)(code, text)
