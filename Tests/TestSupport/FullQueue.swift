// A socket at which nobody accepts, and at which as many clients wait as it lets in.

import PlugboardPosix

/// Such a socket. The next one who connects has to wait.
public final class FullQueue: Sendable {
    private let listener: Descriptor
    private let waiting: [Holder]

    private final class Holder: Sendable {
        let descriptor: Descriptor
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    public init(path: String) throws {
        listener = try UnixSocket.listen(path: path, backlog: 0)
        var waiting: [Holder] = []
        do {
            while true { waiting.append(Holder(try UnixSocket.connect(path: path, seconds: 0))) }
        } catch let error as SystemError where error.isQueueFull {
            self.waiting = waiting
        }
    }

    /// Lets one in.
    public func accept() throws { _ = try UnixSocket.accept(listener.raw) }
}
