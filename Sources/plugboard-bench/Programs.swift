// The programs that the bench starts. This project's own are in one folder, mostly
// that of this program. Those of other systems are looked up in the usual places,
// and may be missing.

import PlugboardPosix

/// Where the programs are, and how to start them.
struct Programs: Sendable {
    private static let outputBytesMax = 65_536
    let plugboard: String
    /// This program.
    let bench: String
    private let tiesServers: Bool

    /// The programs in a folder. With `tiesServers`, whatever it starts ends when this process
    /// ends.
    init(folder: String, tiesServers: Bool = true) {
        plugboard = folder + "/plugboard"
        bench = folder + "/plugboard-bench"
        self.tiesServers = tiesServers
    }

    /// The programs beside this one; nil if there is no `plugboard`.
    static func beside() -> Programs? {
        let programs = ProgramPath.current().map { Programs(folder: SocketPath.folder(of: $0)) }
        return programs.flatMap { FileStatus.isRunnable(path: $0.plugboard) ? $0 : nil }
    }

    /// The start of a program. With `directly`, no other program is in between.
    func start(_ program: String, _ arguments: [String], directly: Bool = false) -> ChildStart {
        let words = ["launch", "--", "\(getpid())", program] + arguments
        return tiesServers && !directly
            ? ChildStart(program: plugboard, arguments: words, output: .piped)
            : ChildStart(program: program, arguments: arguments, output: .piped)
    }

    /// What a program prints from its start to its end.
    func output(of program: String, _ arguments: [String]) throws -> String {
        var process = try ChildProcess(starting: start(program, arguments))
        guard let fd = process.outputFD else { return "" }
        var bytes: [UInt8] = []
        reading: while bytes.count < Self.outputBytesMax {
            let (transfer, piece) = PipeCalls.read(fd, upTo: 4096)
            switch transfer {
            case .bytes: bytes += piece
            case .wouldBlock: PipeCalls.waitReadable(fd)
            case .ended, .failed: break reading
            }
        }
        _ = process.end()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The path of a program of the system; nil if it isn't installed.
    static func find(_ name: String) -> String? {
        let folders = (SocketPath.variable("PATH") ?? "").split(separator: ":").map(String.init)
        let candidates = (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }
        return candidates.first(where: FileStatus.isRunnable)
    }

    /// The path of a program, or its name if it isn't installed.
    static func path(_ name: String) -> String { find(name) ?? name }
}
