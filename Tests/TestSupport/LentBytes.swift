// Texts as the bytes that the wire layer works on.
//
// Why memory of its own: an array may have room behind its last element, and a read of it would pass
// unseen. The copy ends right after its bytes and is freed after the call, whose span can't outlive it.

/// Lends bytes, in memory that ends right after them.
public func withBytes<Result, Failure: Error>(
    _ bytes: [UInt8], _ body: (Span<UInt8>) throws(Failure) -> Result
) throws(Failure) -> Result {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { unsafe copy.deallocate() }
    unsafe copy.copyBytes(from: bytes)
    return try unsafe body(Span(_unsafeBytes: UnsafeRawBufferPointer(copy)))
}

/// Lends the bytes of a text, likewise.
public func withBytes<Result, Failure: Error>(
    _ text: String, _ body: (Span<UInt8>) throws(Failure) -> Result
) throws(Failure) -> Result {
    try withBytes(Array(text.utf8), body)
}
