// What an observer of this project's broker answers to events that want an answer: an
// update that is to be acknowledged, a call that it serves. The generator reads nothing
// else of what it is told, and this only in rows with one message at a time.

/// Answers to the broker's lines.
enum BrokerAnswer {
    /// Nil for a line that wants none.
    static func bytes(to line: ArraySlice<UInt8>) -> [UInt8]? {
        if let call = text(in: line, after: #"{"event":"call","call":""#, until: "\"") {
            return Array("{\"op\":\"return\",\"call\":\"\(call)\",\"value\":true}\n".utf8)
        }
        guard line.starts(with: #"{"event":"update","#.utf8),
            let sub = text(in: line, after: #""sub":"#, until: ","),
            let revision = text(in: line, after: #""revision":"#, until: ",")
        else { return nil }
        return Array("{\"op\":\"ack\",\"sub\":\(sub),\"revision\":\(revision)}\n".utf8)
    }

    /// What stands between the first `before` and the next `end`.
    private static func text(in line: ArraySlice<UInt8>, after before: String, until end: Character)
        -> String?
    {
        let before = Array(before.utf8)
        let place = line.indices.first { line[$0...].starts(with: before) }
        guard let place, let end = end.asciiValue else { return nil }
        let rest = line[(place + before.count)...]
        return rest.firstIndex(of: end).map { String(decoding: rest[..<$0], as: UTF8.self) }
    }
}
