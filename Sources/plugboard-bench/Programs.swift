// The programs that the bench starts: this project's own, and those of other systems.

import PlugboardPosix

/// Where they are, and how they are started.
struct Programs: Sendable {
    private static let outputBytesMax = 65_536
    let plugboard: String
    /// This program.
    let bench: String
    private let tiesServers: Bool

    /// Those in a folder. With `tiesServers` what is started ends when this process does.
    init(folder: String, tiesServers: Bool = true) {
        plugboard = folder + "/plugboard"
        bench = folder + "/plugboard-bench"
        self.tiesServers = tiesServers
    }

    /// Those beside this one; nil where there is no `plugboard`.
    static func beside() -> Programs? {
        let programs = ProgramPath.current().map { Programs(folder: SocketPath.folder(of: $0)) }
        return programs.flatMap { FileStatus.isRunnable(path: $0.plugboard) ? $0 : nil }
    }

    /// The start of a program, with nothing in between if `directly`.
    func start(_ program: String, _ arguments: [String], directly: Bool = false) -> ChildStart {
        let words = ["launch", "--", "\(getpid())", program] + arguments
        return tiesServers && !directly
            ? ChildStart(program: plugboard, arguments: words, output: .piped)
            : ChildStart(program: program, arguments: arguments, output: .piped)
    }

    /// What a program prints, from its start to its end.
    func output(of program: String, _ arguments: [String]) throws -> String {
        var process = try ChildProcess(starting: start(program, arguments))
        guard let fd = process.outputFD else { return "" }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        reading: while bytes.count < Self.outputBytesMax {
            switch chunk.withUnsafeMutableBytes({ PipeCalls.read(fd, into: $0) }) {
            case .bytes(let count): bytes += chunk[..<count]
            case .wouldBlock: PipeCalls.waitReadable(fd)
            case .ended, .failed: break reading
            }
        }
        _ = process.end()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Where a program of the system is; nil where it isn't installed.
    static func find(_ name: String) -> String? {
        let folders = (SocketPath.variable("PATH") ?? "").split(separator: ":").map(String.init)
        let candidates = (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }
        return candidates.first(where: FileStatus.isRunnable)
    }

    /// The same, or the name alone.
    static func path(_ name: String) -> String { find(name) ?? name }
}
