// The end of a connection to which several threads may write. It is open for as long as somebody holds it, so
// nobody writes to a descriptor that has been closed, or is another one by now.

/// A socket that is shared for sending. Whoever sends sees to it that lines aren't mixed.
public final class SendingEnd: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// What to poll.
    var fd: Int32 { descriptor.raw }

    /// Sends as much as goes now. Any thread may call it.
    public func send(_ bytes: Span<UInt8>) -> Transfer { descriptor.write(bytes) }
}
