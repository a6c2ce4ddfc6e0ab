// How far a file was published, as `progress.<name>` on the bus. It is written in one batch with each line's
// values, so a killed tracker's successor repeats no line and leaves none out. It counts only as long as the
// file begins with the lines that were published.

import PlugboardClient
import PlugboardPosix

/// The lines of a file that are on the bus already.
struct Progress {
    private let bus: Bus
    private let source: String
    /// The key that keeps it; nil for a pipe, which nobody can read again.
    private let key: String?
    /// The last line that was published; 0 before the first one.
    private(set) var line = 0
    private var digest = Digest()

    init(bus: Bus, name: String, source: String) {
        self.bus = bus
        self.source = source
        let isFile = source != "-" && FileStatus(path: source).kind == .file
        key = isFile ? "progress.\(name.isKeyToken ? name : "review-tracker")" : nil
    }

    /// Finds out which lines an earlier tracker has published.
    mutating func find() async throws {
        guard let key, let value = try await bus.entry(key)?.value, value["file"] == .string(source),
            let line = value["line"]?.integer, line > 0, let text = value["digest"]?.string
        else { return }
        var digest = Digest()
        for try await input in InputLines(path: source) where input.number <= line {
            digest.add(input)
            if input.number == line { break }
        }
        if digest.text == text { self.line = line }
    }

    /// Notes a line of the file, published or not.
    mutating func read(_ line: InputLine) { digest.add(line) }

    /// The write that belongs into the batch of the line that was read last; nil for a pipe.
    func write(_ line: InputLine) throws -> Write? {
        try key.map { try .publish($0, value(line.number)) }
    }

    /// The file is at its end, so the next tracker begins anew.
    func end() async throws {
        guard let key else { return }
        do {
            try await bus.delete(key)
        } catch let error as BusError where error.code == .notFound {
            // Nothing was published.
        }
    }

    private func value(_ line: Int) -> JSON {
        .object(["file": .string(source), "line": .integer(line), "digest": .string(digest.text)])
    }
}

/// A number for the lines of a file so far (FNV-1a). It needn't be hard to forge: it only notices that a file
/// was replaced.
private struct Digest {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    var text: String { String(state, radix: 16) }

    mutating func add(_ line: InputLine) {
        for byte in (line.bytes ?? []) + [0x0A] { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
