// Options that several commands share, each declared once.

import PlugboardPosix
import PlugboardWire

extension Option {
    static let help = Option(flag: "help", "show this text")

    static let socket = Option(
        "socket",
        "PATH",
        "where the broker is, or shall be; else PLUGBOARD_SOCKET, else the user's own place"
    )

    static let peer = Option(
        "peer",
        "USER",
        "whose broker it may be beside your own and root's; else PLUGBOARD_PEER"
    )

    /// ` --socket PATH` for a line to paste, empty where the path is the user's own place.
    static func socketWords(_ path: String) -> String {
        path == SocketPath.ownPlace() ? "" : " --socket \(ShellWord.quoted(path))"
    }

    static let json = Option(flag: "json", "print JSON lines, also on a terminal")

    static let clientName = Option("name", "NAME", "the name to write under; else PLUGBOARD_NAME, else #N")

    static let timeout = Option("timeout", "SECONDS", "how long to wait for the broker (5)", .seconds)

    static let noReconnect = Option(
        flag: "no-reconnect",
        "end with status 69 when the broker goes, instead of waiting for it"
    )

    static let ifRevision = Option(
        "if",
        "REVISION",
        "only if the key's revision is this one (0: if the key is absent)",
        .integer(0...Limits.integerMax)
    )

    static let cause = Option(
        "cause",
        "REVISION",
        "the revision that this write answers to; passed on to observers",
        .integer(0...Limits.integerMax)
    )

    /// What each command that talks to a broker takes.
    static let connection: [Option] = [.socket, .peer, .timeout]

    /// What each command takes that goes on until it is ended.
    static let observing: [Option] = connection + [.noReconnect]

    /// What each command that writes takes.
    static let writing: [Option] = [.clientName, .json] + connection
}
