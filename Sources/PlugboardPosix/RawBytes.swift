// The calls that move bytes, for those who still lend them as addresses. To go when nobody does.

import PlugboardMemory

extension Span where Element == UInt8 {
    @_lifetime(borrow bytes)
    fileprivate init(lent bytes: UnsafeRawBufferPointer) {
        self = unsafe Span(_unsafeBytes: bytes)
    }
}

private func withMutableSpan<Result, Failure: Error>(
    _ buffer: UnsafeMutableRawBufferPointer,
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
) throws(Failure) -> Result {
    var span = unsafe MutableSpan<UInt8>(_unsafeBytes: buffer)
    return try body(&span)
}

extension Descriptor {
    public borrowing func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        unsafe DescriptorCalls.read(raw, into: buffer)
    }

    public borrowing func write(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        unsafe DescriptorCalls.send(raw, bytes)
    }
}

extension DescriptorCalls {
    public static func read(_ fd: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        unsafe withMutableSpan(buffer) { read(fd, into: &$0) }
    }

    public static func send(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        unsafe send(fd, Span(lent: bytes))
    }
}

extension PipeCalls {
    public static func read(_ fd: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        unsafe withMutableSpan(buffer) { read(fd, into: &$0) }
    }

    public static func write(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
        unsafe write(fd, Span(lent: bytes))
    }
}

extension InputFile {
    public borrowing func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var span = unsafe MutableSpan<UInt8>(_unsafeBytes: buffer)
        return try read(into: &span)
    }
}
