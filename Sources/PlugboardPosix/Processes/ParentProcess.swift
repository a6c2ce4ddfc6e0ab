/// The process that started this one. Any thread.
public struct ParentProcess: Sendable {
    private let number: Int32

    public init() {
        number = getppid()
    }

    /// It has ended; this process now belongs to another one, which knows nothing of it.
    public var isGone: Bool { getppid() != number }
}
