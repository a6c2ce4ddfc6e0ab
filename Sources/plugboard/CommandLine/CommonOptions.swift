// Options that several commands share, each declared once.

import PlugboardPosix
import PlugboardWire

extension CommandOption {
    /// ` --socket PATH` for a line to paste; empty if the path is the default.
    static func socketWords(_ path: String) -> String {
        path == SocketPath.ownPlace() ? "" : " --socket \(ShellWord.quoted(path))"
    }

    static let json = CommandOption(flag: "json", short: "j", "print JSON lines, also on a terminal")

    static let clientName = CommandOption(
        "name", "NAME", "the name on the bus, as who shows it; by default PLUGBOARD_NAME, or else #N"
    )

    static let timeout = CommandOption(
        "timeout", "SECONDS", "how long to wait for the broker; by default PLUGBOARD_TIMEOUT, or 5", .seconds
    )

    static let noReconnect = CommandOption(
        flag: "no-reconnect", "when the broker goes, end with status 69 instead of waiting"
    )

    static let ifRevision = CommandOption(
        "if",
        "REVISION",
        "write only if the key is at this revision (0: if it is absent)",
        .integer(0...Int(Limits.integerMax))
    )

    static let cause = CommandOption(
        "cause",
        "REVISION",
        "the revision that caused this write; by default PLUGBOARD_CAUSE",
        .integer(0...Int(Limits.integerMax))
    )

    /// The options of each command that talks to a broker.
    static let connection: [CommandOption] = [.socket, .peer, .timeout]

    /// The options of each command that runs until it is stopped.
    static let observing: [CommandOption] = connection + [.noReconnect]

    /// The options of each command that writes.
    static let writing: [CommandOption] = [.clientName, .json] + connection
}
