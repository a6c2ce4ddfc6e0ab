// The last lines that a child printed, for those who ask later. Bounded twice: by
// lines and by bytes.

/// What a child printed last.
struct PluginLog {
    static let linesMax = 200
    static let bytesMax = 65_536

    /// The oldest first.
    private(set) var lines: [String] = []
    private var bytes = 0

    mutating func append(_ new: [String]) {
        lines += new
        bytes += new.reduce(0) { $0 + $1.utf8.count }
        var dropped = 0
        while lines.count - dropped > Self.linesMax || bytes > Self.bytesMax {
            bytes -= lines[dropped].utf8.count
            dropped += 1
        }
        lines.removeFirst(dropped)
    }
}
