// A terminal without a person: two descriptors, one for the program and one to look at.

import Foundation
import PlugboardPosix

/// A pseudo-terminal.
final class Terminal: Sendable {
    /// What a program gets as its standard output.
    let program: FileHandle
    private let screen: Int32

    /// TIOCSPTLCK and TIOCGPTN, which the Glibc module lacks (asm-generic/ioctls.h).
    private static let unlock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    /// - Parameter columns: its width; without, it doesn't say how wide it is.
    init(columns: UInt16? = nil) throws {
        screen = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard screen >= 0 else { throw SystemError.last("open", "/dev/ptmx") }
        var (unlocked, number): (Int32, Int32) = (0, 0)
        guard ioctl(screen, Self.unlock, &unlocked) == 0, ioctl(screen, Self.number, &number) == 0 else {
            throw SystemError.last("ioctl", "/dev/ptmx")
        }
        let fd = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        guard fd >= 0 else { throw SystemError.last("open", "/dev/pts/\(number)") }
        program = FileHandle(fileDescriptor: fd, closeOnDealloc: true)
        guard let columns else { return }
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(fd, UInt(TIOCSWINSZ), &size) == 0 else { throw SystemError.last("ioctl", "TIOCSWINSZ") }
    }

    deinit { close(screen) }

    /// Everything that was written so far.
    func contents() -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        var entry = pollfd(fd: screen, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, 0) == 1 {
            let count = read(screen, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
