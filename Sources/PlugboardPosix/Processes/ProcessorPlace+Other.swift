// Systems on which a thread isn't kept to a processor.

#if !os(Linux)
    /// Changes nothing.
    public struct ProcessorPlace {
        /// Which of those that the thread may run on.
        public enum Choice: Sendable {
            case first
            case allButFirst
        }

        /// Throws nothing here.
        public init(_ choice: Choice) throws {}

        /// Nothing was changed.
        public func leave() {}
    }
#endif
