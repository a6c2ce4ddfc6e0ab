// The listening socket of a broker, its file, and the lock beside it. Others can remove the files while
// it runs: a person, or a program that tidies a temporary folder. So they are looked after regularly,
// and the socket's file is known by its identity.

import Synchronization

/// A socket that listens at a path, under the path's lock. From any thread, where it doesn't say
/// otherwise.
public final class ServerSocket: Sendable {
    /// How often to look after the files.
    public static let checkNanoseconds: UInt64 = 2_000_000_000

    public let path: String
    /// The listening socket's number, which stays the same.
    public var raw: Int32 { listener.raw }
    private let listener: Descriptor
    private let lock: SocketLock
    private let state: Mutex<State>

    private struct State {
        /// The identity of its file.
        var file: FileIdentity?
        /// Whether this process, or the program before in it, has made the file, and so removes it.
        var isMade: Bool
        /// Whether other users may connect.
        var isOpen = false
        /// What was said last about a file that isn't its own.
        var told: String?

        func isOwn(_ path: String) -> Bool { file != nil && FileIdentity(path: path) == file }

        /// Whether this wasn't said the last time.
        mutating func isNew(_ message: String) -> Bool {
            defer { told = message }
            return told != message
        }
    }

    /// Takes the lock and listens, or goes on with what the program before in this process has left,
    /// or with a socket that listens at the path already. Nil if another broker holds the lock. Throws
    /// `SocketTaken` or `SystemError`.
    public init?(path: String, listener given: Int32?, inheritance: Inheritance?) throws {
        self.path = path
        let inheritance = inheritance.flatMap { $0.hasSocket(at: path) ? $0 : nil }
        guard let lock = try inheritance?.takeLock() ?? SocketLock.acquire(for: path) else { return nil }
        self.lock = lock
        if let given {
            listener = UnixSocket.adopt(listener: given)
        } else if let inherited = inheritance?.takeListener() {
            listener = inherited
        } else {
            listener = try UnixSocket.listen(path: path)
        }
        let file = inheritance?.socketFile ?? FileIdentity(path: path)
        state = Mutex(State(file: file, isMade: given == nil))
    }

    /// The descriptors for the next program in this process. They still belong to this object.
    public var descriptors: [Handover.Role: Int32] {
        _ = lock.keep(for: path)
        return [.listener: listener.raw, .lock: lock.raw]
    }

    /// The variables for that program.
    public var variables: [String: String] {
        guard let file = state.withLock({ $0.file }) else { return [:] }
        return [Handover.socketFile: file.text]
    }

    /// Looks whether the files are still its own. If they were removed, and nobody else has made
    /// others, makes them again: then put the result in its place. Reports what a person should know.
    /// Used by one thread.
    public func check(_ report: (String) -> Void) -> Descriptor? {
        let isLocked = lock.keep(for: path)
        if state.withLock({ $0.isOwn(path) }) { return nil }
        do {
            guard isLocked else { throw SocketTaken(path: path) }
            let fresh = try listenAgain()
            report("the socket at \(path) was removed: the broker listens there again")
            return fresh
        } catch {
            let message = "the socket at \(path) was removed, and no new client can connect: \(error)"
            if state.withLock({ $0.isNew(message) }) { report(message) }
            return nil
        }
    }

    private func listenAgain() throws -> Descriptor {
        try SocketPath.prepareFolder(of: path, mustBePrivate: path == SocketPath.ownPlace())
        let fresh = try UnixSocket.listen(path: path)
        let isOpen = state.withLock { state in
            state = State(file: FileIdentity(path: path), isMade: true, isOpen: state.isOpen)
            return state.isOpen
        }
        if isOpen { try UnixSocket.setOpen(path: path, true) }
        return fresh
    }

    /// Puts a new socket in the place of the old one. Accept who waits there before. Nobody may poll it.
    public func replace(by fresh: consuming Descriptor) {
        OpenFileCalls.replace(listener.raw, by: fresh.raw)
    }

    /// Lets other users connect, or prevents it. A socket that somebody else made stays as it is.
    public func setOpen(_ isOpen: Bool) throws {
        guard state.withLock({ $0.isMade }) else { return }
        try UnixSocket.setOpen(path: path, isOpen)
        state.withLock { $0.isOpen = isOpen }
    }

    /// Removes the file, if it was made here and is still the same.
    public func remove() {
        if state.withLock({ $0.isMade && $0.isOwn(path) }) { UnixSocket.remove(path: path) }
    }
}
