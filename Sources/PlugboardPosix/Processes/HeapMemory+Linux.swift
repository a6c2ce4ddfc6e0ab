// The allocator's memory on Linux: glibc keeps what was freed, unless it is asked to give it back.

#if os(Linux) && canImport(Glibc)
    /// The memory of `malloc`, of the whole process.
    public enum HeapMemory {
        private static let largeBytes: Int32 = 2_097_152

        /// Has memory of 2 MiB or more always go back at once. Without this, glibc keeps larger and larger
        /// pieces. Call it once, when the program begins.
        public static func returnLarge() { mallopt(M_MMAP_THRESHOLD, largeBytes) }

        /// Gives back what is free. Takes about 20 milliseconds for 100 MB; whoever allocates meanwhile may
        /// have to wait.
        public static func giveBack() { malloc_trim(0) }
    }
#endif
