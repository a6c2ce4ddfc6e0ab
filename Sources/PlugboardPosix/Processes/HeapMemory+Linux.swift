// The allocator's memory on Linux: glibc keeps what was freed, unless it is asked to give it back.

#if os(Linux) && canImport(Glibc)
    /// The memory of `malloc`, of the whole process.
    public enum HeapMemory {
        private static let largeBytes: Int32 = 262_144

        /// Has memory of 256 KiB or more always go back at once, and join what is freed next to what is free.
        /// Without this, glibc keeps larger and larger pieces, and joins small ones by the million at some
        /// other time, for which others wait. Call it once, when the program begins.
        public static func returnLarge() {
            mallopt(M_MMAP_THRESHOLD, largeBytes)
            mallopt(M_MXFAST, 0)
        }

        /// Gives back what is free. Takes about 20 milliseconds for 100 MB; whoever allocates meanwhile may
        /// have to wait. So don't let very much come together.
        public static func giveBack() { malloc_trim(0) }
    }
#endif
