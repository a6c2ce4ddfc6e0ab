// The allocator's memory on other systems, which give it back by themselves. Untried.

#if !(os(Linux) && canImport(Glibc))
    /// The memory of `malloc`, of the whole process.
    public enum HeapMemory {
        /// Nothing has to be done.
        public static func returnLarge() {}

        /// Nothing has to be done.
        public static func giveBack() {}
    }
#endif
