// Another user's broker, for tests of which users a client trusts. It is `nc`, run as nobody. It says a
// few lines and keeps what it gets. Only root can start one, and only Linux tells when it listens.

import PlugboardPosix
import Testing

/// A socket of another user, for one connection.
public final class Stranger {
    public static let user: UInt32 = 65_534
    /// Whether there can be one on this system. If not, that is printed once.
    public static let isPossible: Bool = {
        let tools = ["/usr/bin/setpriv", "/usr/bin/nc"].allSatisfy { FileStatus.isRunnable(path: $0) }
        let isPossible = Accounts.ownUser == 0 && tools && FileStatus(path: sockets).kind != .missing
        if !isPossible { print("left out: tests of another user's broker need root, setpriv and nc") }
        return isPossible
    }()

    /// The path where it listens.
    public let path: String
    private let folder: TemporaryFolder
    private var child: ChildProcess
    private var isOver = false
    private static let sockets = "/proc/net/unix"

    /// Listens at `path`, or else in a temporary folder, and says `lines`. The folder is made if it is
    /// missing, and given to the other user.
    public init(at path: String? = nil, saying lines: [String] = []) throws {
        folder = try TemporaryFolder(named: "pbx")
        self.path = path ?? folder.path + "/s"
        let place = SocketPath.folder(of: self.path)
        try Folder.make(place)
        guard SystemCalls.setMode(place, 0o755),
            SystemCalls.giveAway(place, to: Self.user, group: Self.user)
        else { throw SystemError.last("give away", place) }
        let words = lines.map { "'\($0)\n'" }.joined(separator: " ")
        let script = """
            printf %s \(words) > "$2/in"
            exec setpriv --reuid \(Self.user) --clear-groups nc -lU "$1" < "$2/in" > "$2/heard"
            """
        let arguments = ["-c", script, "sh", self.path, folder.path]
        child = try ChildProcess(starting: ChildStart(program: "/bin/sh", arguments: arguments))
        // A client that waits for the socket may have come and gone already.
        try eventually("\(self.path) is listened at") { listens() || hasEnded() }
    }

    /// What it got, after its client is gone.
    public func heard() throws -> String {
        try eventually("whoever was there has gone") { hasEnded() }
        return try text("\(folder.path)/heard")
    }

    /// What it got until now. Nobody may have connected.
    public func heardUntilNow() throws -> String { try text("\(folder.path)/heard") }

    private func hasEnded() -> Bool {
        isOver = isOver || child.end() != nil
        return isOver
    }

    /// The flags of a socket that listens have SO_ACCEPTCON, 0x10000.
    private func listens() -> Bool {
        guard let all = try? text(Self.sockets) else { return false }
        return all.split(separator: "\n").contains { $0.contains(" 00010000 ") && $0.hasSuffix(" " + path) }
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try InputFile.contents(path: path, limit: 1 << 24), as: UTF8.self)
    }
}
