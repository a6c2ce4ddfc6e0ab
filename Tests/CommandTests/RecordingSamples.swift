// Recordings that tests write, and what a subscriber gets when they are played.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

/// Lines of a recording, as a test writes them.
func recording(_ lines: String...) -> String {
    ([#"{"recording":1,"patterns":["**"]}"#] + lines).joined(separator: "\n") + "\n"
}

func update(_ key: String, _ value: String, _ revision: Int, ms: Double = 0, more: String = "")
    -> String
{
    #"{"ms":\#(ms),"event":"update","sub":1,"key":"\#(key)","revision":\#(revision),"value":\#(value),"by":"x"\#(more)}"#
}

func emit(_ key: String, _ value: String, _ revision: Int, ms: Double = 0) -> String {
    #"{"ms":\#(ms),"event":"emit","sub":1,"key":"\#(key)","revision":\#(revision),"value":\#(value),"by":"x"}"#
}

func delete(_ key: String, _ revision: Int, ms: Double = 0) -> String {
    #"{"ms":\#(ms),"event":"delete","sub":1,"key":"\#(key)","revision":\#(revision),"by":"x"}"#
}

/// What an observer of everything gets because of an action: event, key, value, cause, and revisions
/// relative to the bus's revision before.
func seen(in folder: TemporaryFolder, _ action: () throws -> Void) throws -> [String] {
    let watcher = try Run(["record", "**"], in: folder)
    try eventually("synced") { watcher.output.contains("synced") }
    try action()
    watcher.signal(SIGINT)
    let lines = try watcher.finished().lines.dropFirst().map {
        try JSONObject(parsing: Array($0.utf8)[...])
    }
    let start = lines.compactMap { $0["initial"] == nil ? $0["revision"]?.integer : nil }.first ?? 0
    return lines.filter { $0["initial"] == nil && $0["key"] != nil }.map { line in
        let revision = Int(line["revision"]?.integer ?? 0) - Int(start)
        let cause = line["cause"]?.integer.map { " ←\(Int($0) - Int(start))" } ?? ""
        return
            "\(revision) \(line["event"]?.string ?? "") \(line["key"]?.string ?? "") \(line["value"]?.text ?? "")\(cause)"
    }
}
