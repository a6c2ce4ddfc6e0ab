// The programs that the bench starts. This project's programs are in one folder, usually that of this
// program. Those of other systems are searched in the usual places, and may be missing.

import PlugboardPosix

/// Where the programs are, and how to start them.
struct Programs: Sendable {
    private static let outputBytesMax = 65_536
    let plugboard: String
    /// The path of this program.
    let bench: String
    private let tiesServers: Bool

    /// The programs in a folder. If `tiesServers`, every program that is started ends with this process.
    init(folder: String, tiesServers: Bool = true) {
        plugboard = folder + "/plugboard"
        bench = folder + "/plugboard-bench"
        self.tiesServers = tiesServers
    }

    /// The programs in this program's folder; nil if `plugboard` isn't there.
    static func beside() -> Programs? {
        let programs = ProgramPath.current().map { Programs(folder: SocketPath.folder(of: $0)) }
        return programs.flatMap { FileStatus.isRunnable(path: $0.plugboard) ? $0 : nil }
    }

    /// How to start a program. With `directly`, without the program that ends it with this process.
    func start(_ program: String, _ arguments: [String], directly: Bool = false) -> ChildStart {
        let words = ["launch", "--", "\(getpid())", program] + arguments
        return tiesServers && !directly
            ? ChildStart(program: plugboard, arguments: words, output: .piped)
            : ChildStart(program: program, arguments: arguments, output: .piped)
    }

    /// Runs a program to its end and returns what it prints, at most about 64 KiB.
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

    /// The path of an installed program; nil if it isn't installed.
    static func find(_ name: String) -> String? {
        let folders = (SocketPath.variable("PATH") ?? "").split(separator: ":").map(String.init)
        let candidates = (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }
        return candidates.first(where: FileStatus.isRunnable)
    }

    /// The path of an installed program, or only its name if it isn't installed.
    static func path(_ name: String) -> String { find(name) ?? name }
}
