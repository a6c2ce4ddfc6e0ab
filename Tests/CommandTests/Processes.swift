// What a test can find out about processes that aren't its children.

import PlugboardPosix

@testable import plugboard

enum Processes {
    /// Whether a process runs. One that has ended and waits for its parent doesn't.
    static func isAlive(_ pid: Int32) -> Bool {
        guard kill(pid, 0) == 0 else { return false }
        guard let fields = fields(pid) else { return FileStatus(path: "/proc/self").kind == .missing }
        return fields[0] != "Z"
    }

    /// The children of `pid` that have ended and that it hasn't waited for.
    static func zombies(of pid: Int32) -> [Int32] {
        children(of: pid).filter { fields($0)?[0] == "Z" }
    }

    static func children(of pid: Int32) -> [Int32] {
        let all = (try? Folder.names(in: "/proc"))?.compactMap { Int32($0) } ?? []
        return all.filter { fields($0)?[1] == "\(pid)" }
    }

    /// Its processor time so far, in clock ticks.
    static func ticks(_ pid: Int32) -> Int {
        guard let fields = fields(pid) else { return 0 }
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }

    /// `/proc/PID/stat` from the state on: 0 is the state, 1 the parent, 2 the group, 11 and 12
    /// the processor time.
    static func fields(_ pid: Int32) -> [Substring]? {
        guard let bytes = try? InputFile.contents(path: "/proc/\(pid)/stat", limit: 65_536) else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let close = text.lastIndex(of: ")") else { return nil }
        let fields = text[close...].split(separator: " ").dropFirst()
        return fields.count > 12 ? Array(fields) : nil
    }
}
