// Why a program whose file is there can't be started: another file that it needs is missing. The system says
// only "No such file or directory", as if it meant the program.

/// The file that a program needs to be started, if that can't be run.
struct MissingInterpreter {
    /// No system reads more of a script's first line.
    private static let lineBytesMax = 256

    /// What follows the program's name in a message.
    let text: String

    /// Nil if the program itself is missing, or if nothing that it needs is.
    init?(of program: String) {
        guard FileStatus.isRunnable(path: program), let start = Self.start(of: program) else { return nil }
        guard start.starts(with: Array("#!".utf8)) else {
            guard start.starts(with: [0x7F] + Array("ELF".utf8)) else { return nil }
            text = " (the loader that it was made for is missing)"
            return
        }
        let line = start.dropFirst(2).prefix { $0 != 0x0A }
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let name = Array(line.drop(while: isBlank).prefix { !isBlank($0) })
        guard !name.isEmpty, !FileStatus.isRunnable(path: String(decoding: name, as: UTF8.self)) else {
            return nil
        }
        let isFromWindows = name.last == 0x0D
        let shown = String(decoding: isFromWindows ? name.dropLast() : name[...], as: UTF8.self)
        text =
            isFromWindows
            ? " (its interpreter is \"\(shown)\\r\", because its lines end with CR LF)"
            : " (its interpreter is \"\(shown)\")"
    }

    private static func start(of program: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: lineBytesMax)
        var buffer = bytes.mutableSpan
        guard let count = try? InputFile(path: program).read(at: 0, into: &buffer) else { return nil }
        return Array(bytes.prefix(count))
    }
}

extension SystemError {
    /// A program couldn't be started. `folder` is the one that it should run in.
    static func starting(
        _ program: String, _ operation: String, in folder: String? = nil, code: Int32
    ) -> SystemError {
        let isAboutFile = [ENOENT, ENOTDIR, EACCES].contains(code)
        guard isAboutFile else { return SystemError(code: code, operation: operation, subject: program) }
        let missing = folder.flatMap(missingFolder) ?? MissingInterpreter(of: program)?.text ?? ""
        return SystemError(code: code, operation: operation, subject: program + missing)
    }

    private static func missingFolder(_ folder: String) -> String? {
        FileStatus(path: folder).kind == .folder ? nil : " (its folder \(folder) is gone)"
    }
}
