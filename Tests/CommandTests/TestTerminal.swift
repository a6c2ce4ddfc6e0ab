// A terminal whose other end a test has.

#if os(Linux)
    import PlugboardPosix

    /// A pseudo-terminal.
    final class TestTerminal {
        /// TIOCSPTLCK and TIOCGPTN, which the Glibc module lacks (asm-generic/ioctls.h).
        private static let unlock: UInt = 0x4004_5431
        private static let number: UInt = 0x8004_5430

        /// What a program opens to write to it.
        let path: String
        private let screen: Descriptor
        private var bytes: [UInt8] = []

        init(columns: UInt16 = 80, rows: UInt16 = 24) throws {
            let fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            guard fd >= 0 else { throw SystemError.last("open", "/dev/ptmx") }
            screen = Descriptor(adopting: fd)
            var unlocked: Int32 = 0
            var number: Int32 = 0
            guard ioctl(fd, Self.unlock, &unlocked) == 0, ioctl(fd, Self.number, &number) == 0
            else { throw SystemError.last("ioctl", "/dev/ptmx") }
            UnixSocket.setBlocking(fd, false)
            path = "/dev/pts/\(number)"
            try resize(columns: columns, rows: rows)
        }

        /// Changes the size. Its program gets SIGWINCH.
        func resize(columns: UInt16, rows: UInt16) throws {
            var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            guard ioctl(screen.raw, UInt(TIOCSWINSZ), &size) == 0 else {
                throw SystemError.last("ioctl", path)
            }
        }

        /// Types.
        func type(_ text: String) {
            let bytes = Array(text.utf8)
            _ = bytes.withUnsafeBytes { PipeCalls.write(screen.raw, $0) }
        }

        /// Whether it collects lines and echoes what is typed, as in a shell.
        var isPlain: Bool {
            var mode = termios()
            guard tcgetattr(screen.raw, &mode) == 0 else { return false }
            return mode.c_lflag & tcflag_t(ICANON) != 0 && mode.c_lflag & tcflag_t(ECHO) != 0
        }

        /// Everything that was written to it so far, unchanged.
        func written() -> String {
            _ = shown()
            return String(decoding: bytes, as: UTF8.self)
        }

        /// Everything that was written to it so far, with LF instead of the terminal's line ends.
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
