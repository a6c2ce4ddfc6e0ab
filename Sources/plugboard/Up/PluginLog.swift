// The last lines that a child printed, for later questions. It has at most a number of lines and a number of
// bytes.

/// The last output of a child.
struct PluginLog {
    static let linesMax = 200
    static let bytesMax = 65_536

    /// The lines, the oldest first.
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
