// A terminal that a test holds the other end of.

#if os(Linux)
    import PlugboardPosix

    /// A pseudo-terminal.
    final class TestTerminal {
        /// TIOCSPTLCK and TIOCGPTN, which the Glibc module doesn't show (asm-generic/ioctls.h).
        private static let unlock: UInt = 0x4004_5431
        private static let number: UInt = 0x8004_5430

        /// What a program opens to write to it.
        let path: String
        private let screen: Descriptor
        private var bytes: [UInt8] = []

        init(columns: UInt16 = 80) throws {
            let fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            guard fd >= 0 else { throw SystemError.last("open", "/dev/ptmx") }
            screen = Descriptor(adopting: fd)
            var unlocked: Int32 = 0
            var number: Int32 = 0
            var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            guard ioctl(fd, Self.unlock, &unlocked) == 0, ioctl(fd, Self.number, &number) == 0,
                ioctl(fd, UInt(TIOCSWINSZ), &size) == 0
            else { throw SystemError.last("ioctl", "/dev/ptmx") }
            UnixSocket.setBlocking(fd, false)
            path = "/dev/pts/\(number)"
        }

        /// Everything that was written to it so far, with the terminal's own line ends as LF.
        func shown() -> String {
            withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
                while case .bytes(let count) = PipeCalls.read(screen.raw, into: buffer) {
                    bytes.append(contentsOf: buffer[..<count])
                }
            }
            return String(decoding: bytes, as: UTF8.self).split(
                separator: "\r\n",
                omittingEmptySubsequences: false
            )
            .joined(separator: "\n")
        }
    }
#endif
