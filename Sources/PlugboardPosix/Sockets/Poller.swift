// The seam between the loop and the system's way of waiting. Called once a turn,
// so it may be an existential; what it returns lies in memory of the loop's.

/// Why a descriptor woke the loop.
public struct Readiness: Equatable, Sendable, BitwiseCopyable {
    /// The number that was given with `add`.
    public let token: UInt64
    /// Something can be read, or the peer finished writing.
    public let canRead: Bool
    /// Something can be written.
    public let canWrite: Bool
    /// The peer is gone for good (both directions), or the descriptor is in error.
    public let isGone: Bool

    public init(token: UInt64, canRead: Bool, canWrite: Bool, isGone: Bool) {
        self.token = token
        self.canRead = canRead
        self.canWrite = canWrite
        self.isGone = isGone
    }
}

/// What a descriptor waits for. The end of its peer is reported in any case, again and again, but for `known`.
public struct Interest: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let read = Interest(rawValue: 1)
    public static let write = Interest(rawValue: 2)
    /// The end of its peer is known: nothing is reported any more.
    public static let known = Interest(rawValue: 4)
}

/// Waits for many descriptors at once, level-triggered. Used by one thread.
public protocol Poller: AnyObject {
    /// Starts watching; the descriptor stays the caller's.
    func add(_ fd: Int32, token: UInt64, interest: Interest) throws
    /// Changes what a watched descriptor waits for.
    func change(_ fd: Int32, token: UInt64, interest: Interest) throws
    /// Stops watching; called before the descriptor is closed.
    func remove(_ fd: Int32)
    /// Waits up to `milliseconds` (negative: for ever) and calls `body` for each that is ready. Throws what `body` throws, too.
    func wait(milliseconds: Int32, _ body: (Readiness) throws -> Void) throws
}

/// The ways of waiting that this program knows.
public enum PollerKind: String, CaseIterable, Sendable {
    /// epoll(7), Linux only.
    case epoll
    /// poll(2), everywhere.
    case poll
}
