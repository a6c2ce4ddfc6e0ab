// A terminal that a test holds the other end of.

import Foundation
import PlugboardPosix

/// A pseudo-terminal, as Linux has them.
public final class TestTerminal {
    /// TIOCSPTLCK and TIOCGPTN, which the Glibc module doesn't show (asm-generic/ioctls.h).
    private static let unlock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    /// What a program opens to write to it.
    public let path: String
    /// The same, opened, for a program's standard output.
    public private(set) lazy var program = FileHandle(
        fileDescriptor: open(path, O_RDWR | O_NOCTTY),
        closeOnDealloc: true
    )
    private let screen: Descriptor
    private var bytes: [UInt8] = []

    /// Without `columns` it doesn't say how wide it is.
    public init(columns: UInt16? = 80, rows: UInt16 = 24) throws {
        let fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard fd >= 0 else { throw SystemError.last("open", "/dev/ptmx") }
        screen = Descriptor(adopting: fd)
        var unlocked: Int32 = 0
        var number: Int32 = 0
        guard ioctl(fd, Self.unlock, &unlocked) == 0, ioctl(fd, Self.number, &number) == 0
        else { throw SystemError.last("ioctl", "/dev/ptmx") }
        UnixSocket.setBlocking(fd, false)
        path = "/dev/pts/\(number)"
        if let columns { try resize(columns: columns, rows: rows) }
    }

    /// Another size; who uses it is told by its own SIGWINCH.
    public func resize(columns: UInt16, rows: UInt16) throws {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(screen.raw, UInt(TIOCSWINSZ), &size) == 0 else {
            throw SystemError.last("ioctl", path)
        }
    }

    /// Types.
    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = PipeCalls.write(screen.raw, bytes.span)
    }

    /// Whether it puts lines together and echoes what is typed, as a shell has it.
    public var isPlain: Bool {
        var mode = termios()
        guard tcgetattr(screen.raw, &mode) == 0 else { return false }
        return mode.c_lflag & tcflag_t(ICANON) != 0 && mode.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Everything that was written to it so far, as it came.
    public func written() -> String {
        while case (.bytes, let piece) = PipeCalls.read(screen.raw, upTo: 65_536) { bytes += piece }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The same, with the terminal's own line ends as LF.
    public func shown() -> String {
        written().split(separator: "\r\n", omittingEmptySubsequences: false).joined(separator: "\n")
    }
}
