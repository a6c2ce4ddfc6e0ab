// The system's calls that move bytes. Each returns as the call of the C library does, with `errno`.
//
// Why its pointers are safe: a span gives its own address and count, for the length of one call.

import PlugboardMemory

/// `read`, `write` and the like, which take spans.
enum ByteCalls {
    /// Unlike `recv`, the kernel counts it for each process, so the amount that a turn reads can be
    /// seen from outside.
    @inline(__always)
    static func readBytes(_ fd: Int32, _ room: inout MutableSpan<UInt8>) -> Int {
        unsafe room.withUnsafeMutableBytes { unsafe read(fd, $0.baseAddress, $0.count) }
    }

    @inline(__always)
    static func writeBytes(_ fd: Int32, _ bytes: Span<UInt8>) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe write(fd, $0.baseAddress, $0.count) }
    }

    /// Never raises SIGPIPE.
    @inline(__always)
    static func sendBytes(_ fd: Int32, _ bytes: Span<UInt8>) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe send(fd, $0.baseAddress, $0.count, noSignalFlag) }
    }

    static func readBytes(_ fd: Int32, _ room: inout MutableSpan<UInt8>, at offset: Int) -> Int {
        unsafe room.withUnsafeMutableBytes { unsafe pread(fd, $0.baseAddress, $0.count, off_t(offset)) }
    }

    static func writeBytes(_ fd: Int32, _ bytes: Span<UInt8>, at offset: Int) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe pwrite(fd, $0.baseAddress, $0.count, off_t(offset)) }
    }

    /// The next byte; nil if there is none.
    static func readByte(_ fd: Int32) -> UInt8? {
        var byte: UInt8 = 0
        return retrying { unsafe read(fd, &byte, 1) } == 1 ? byte : nil
    }

    /// A signal handler may call it.
    static func writeByte(_ fd: Int32, _ byte: UInt8) {
        var byte = byte
        _ = retrying { unsafe write(fd, &byte, 1) }
    }

    /// A pipe's ends; nil if there is none to be had.
    static func makePipe() -> (reader: Int32, writer: Int32)? {
        var ends: [Int32] = [-1, -1]
        return unsafe pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
    }
}
