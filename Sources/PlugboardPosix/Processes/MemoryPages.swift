// Memory on its way back to the system.
//
// Why its pointers are safe: only whole pages within the lent memory are given back, and reading
// those gives zeros afterwards, which any element of plain bits may be.

/// The pages under some memory.
public enum MemoryPages {
    private static let pieceBytes = 1_048_576

    /// Returns to the system the pages of memory that is about to be freed, a piece at a time. If
    /// much memory is freed at once, all other threads that allocate have to wait. Nobody may need
    /// the contents any more. Any thread may call it.
    public static func giveBack<Element: BitwiseCopyable>(_ memory: inout MutableSpan<Element>) {
        unsafe memory.withUnsafeMutableBytes { unsafe giveBack($0) }
    }

    private static func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { return }
        let page = Int(getpagesize())
        var place = (Int(bitPattern: base) + page - 1) / page * page
        let end = (Int(bitPattern: base) + memory.count) / page * page
        while place < end {
            let count = min(pieceBytes, end - place)
            _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: place), count, MADV_DONTNEED)
            place += count
        }
    }
}
