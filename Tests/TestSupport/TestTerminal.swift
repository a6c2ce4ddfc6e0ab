// A terminal whose other end a test holds.
//
// Why its pointers are safe: each is lent for one call, which reads or writes a value of just that size.

import Foundation
import PlugboardPosix

/// A pseudo-terminal, as Linux has them.
public final class TestTerminal {
    /// TIOCSPTLCK and TIOCGPTN, which the Glibc module doesn't show (asm-generic/ioctls.h).
    private static let unlock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    /// The path that a program opens to use it.
    public let path: String
    /// The opened terminal, for what writes in this program.
    public private(set) lazy var program = FileHandle(
        fileDescriptor: SystemCalls.open(path, O_RDWR | O_NOCTTY | O_CLOEXEC), closeOnDealloc: true
    )
    private let screen: Descriptor
    private var bytes: [UInt8] = []

    /// Without `columns`, the terminal doesn't know its size.
    public init(columns: UInt16? = 80, rows: UInt16 = 24) throws {
        let fd = SystemCalls.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard fd >= 0 else { throw SystemError.last("open", "/dev/ptmx") }
        screen = Descriptor(adopting: fd)
        var unlocked: Int32 = 0
        var number: Int32 = 0
        guard unsafe ioctl(fd, Self.unlock, &unlocked) == 0, unsafe ioctl(fd, Self.number, &number) == 0
        else { throw SystemError.last("ioctl", "/dev/ptmx") }
        UnixSocket.setBlocking(fd, false)
        path = "/dev/pts/\(number)"
        if let columns { try resize(columns: columns, rows: rows) }
    }

    /// Changes the size. Whoever uses the terminal learns of it with SIGWINCH.
    public func resize(columns: UInt16, rows: UInt16) throws {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard unsafe ioctl(screen.raw, UInt(TIOCSWINSZ), &size) == 0 else {
            throw SystemError.last("ioctl", path)
        }
    }

    /// Types as a person does.
    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = PipeCalls.write(screen.raw, bytes.span)
    }

    /// Whether it collects lines and echoes what is typed, as a shell wants it.
    public var isPlain: Bool {
        var mode = termios()
        guard unsafe tcgetattr(screen.raw, &mode) == 0 else { return false }
        return mode.c_lflag & tcflag_t(ICANON) != 0 && mode.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Everything that was written to it so far, unchanged.
    public func written() -> String {
        while case (.bytes, let piece) = PipeCalls.read(screen.raw, upTo: 65_536) { bytes += piece }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Everything that was written so far, with LF for the terminal's CR LF.
    public func shown() -> String {
        written().split(separator: "\r\n", omittingEmptySubsequences: false).joined(separator: "\n")
    }
}
