// Systems on which a thread isn't kept to a processor.

#if !os(Linux)
    /// Changes nothing.
    public struct ProcessorPlace {
        /// Which of those that the thread may run on.
        public enum Choice: Sendable {
            case first
            case allButFirst
            /// All but one; see `current`.
            case allBut(Int32)
        }

        /// Nobody knows.
        public static var current: Int32 { -1 }

        /// Throws nothing here.
        public init(_ choice: Choice) throws {}

        /// Nothing was changed.
        public func leave() {}
    }
#endif
