// Options that several commands share, each declared once.

import PlugboardPosix
import PlugboardWire

extension Option {
    static let help = Option(flag: "help", "show this text")

    static let socket = Option(
        "socket",
        "PATH",
        "the broker's socket; by default PLUGBOARD_SOCKET, or else the user's own place"
    )

    static let peer = Option(
        "peer",
        "USER",
        "also accept this user's broker, beside your own and root's; by default PLUGBOARD_PEER"
    )

    /// ` --socket PATH` for a line to paste, empty where the path is the user's own place.
    static func socketWords(_ path: String) -> String {
        path == SocketPath.ownPlace() ? "" : " --socket \(ShellWord.quoted(path))"
    }

    static let json = Option(flag: "json", "print JSON lines, also on a terminal")

    static let clientName = Option(
        "name",
        "NAME",
        "the name to write under; by default PLUGBOARD_NAME, or else #N"
    )

    static let timeout = Option("timeout", "SECONDS", "how long to wait for the broker (5)", .seconds)

    static let noReconnect = Option(
        flag: "no-reconnect",
        "when the broker goes, end with status 69 instead of waiting"
    )

    static let ifRevision = Option(
        "if",
        "REVISION",
        "write only if the key is at this revision (0: if it is absent)",
        .integer(0...Limits.integerMax)
    )

    static let cause = Option(
        "cause",
        "REVISION",
        "the revision that caused this write; observers get it, too",
        .integer(0...Limits.integerMax)
    )

    /// What each command that talks to a broker takes.
    static let connection: [Option] = [.socket, .peer, .timeout]

    /// What each command takes that runs until it is stopped.
    static let observing: [Option] = connection + [.noReconnect]

    /// What each command that writes takes.
    static let writing: [Option] = [.clientName, .json] + connection
}
