// "Did you mean": the nearest known word. The distance is the restricted Damerau–Levenshtein distance
// (optimal string alignment) in bytes: a byte that is added, missing or changed counts 1, and so do two
// neighbours that are swapped.

/// Finds the word that was probably meant.
public enum Suggestion {
    /// The nearest of `candidates`, without regard to upper case in `word`. Nil if none is near: at most
    /// a third of the longer word's bytes may differ, but one always may.
    public static func nearest(to word: String, among candidates: [String]) -> String? {
        let lowered = word.lowercased()
        // Without this limit, a client could make the broker compare a megabyte byte by byte.
        guard lowered.utf8.count <= 64 else { return nil }
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(Array(lowered.utf8), Array(candidate.utf8))
            let allowed = max(1, max(lowered.utf8.count, candidate.utf8.count) / 3)
            if distance <= allowed, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.word
    }

    /// A hint in words; nil if no candidate is near.
    public static func hint(for word: String, among candidates: [String]) -> String? {
        nearest(to: word, among: candidates).map { "did you mean \"\($0)\"?" }
    }

    /// Names in a sentence: "a, b or c".
    public static func listed(_ names: [String], _ conjunction: String) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "\(names.dropLast().joined(separator: ", ")) \(conjunction) \(last)"
    }

    /// The number of bytes that were added, lost, changed or swapped.
    public static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var before = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row] + [Int](repeating: 0, count: right.count)
            for column in 1...right.count {
                let changed = left[row - 1] == right[column - 1] ? 0 : 1
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + changed)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1]
                {
                    cost = min(cost, before[column - 2] + 1)
                }
                current[column] = cost
            }
            (before, last) = (last, current)
        }
        return last[right.count]
    }
}
