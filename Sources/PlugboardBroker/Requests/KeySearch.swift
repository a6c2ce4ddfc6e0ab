// A search for the keys that match a request's patterns, whole or in steps.

import PlugboardMemory
import PlugboardWire

/// A search for keys, and how far it has got.
struct KeySearch {
    private let patterns: [[UInt8]]
    private let clearance: Clearance?
    private let countMax: Int
    /// The present pattern, and the last key that was looked at.
    private var place = 0
    private var last: [UInt8]
    private var found: [ObservableHandle] = []

    /// Searches for at most `countMax` keys that have a value, come after a key, and may be seen by a client.
    init(_ patterns: [[UInt8]], for clearance: Clearance?, after: [UInt8] = [], countMax: Int = .max) {
        (self.patterns, self.clearance, self.countMax) = (patterns, clearance, countMax)
        last = after
    }

    /// Looks at keys while `visits` are left. Returns whether it is done.
    mutating func goOn(_ keyspace: borrowing Keyspace, _ visits: inout Int) -> Bool {
        while place < patterns.count {
            let (pattern, last) = (patterns[place], last)
            let walked = keyspace.walk(pattern.span, after: last.span, &visits) { observable in
                if isSeen(observable, keyspace) { found.append(observable) }
                return found.count < countMax
            }
            switch walked {
            case .stopped: return true
            case .paused(let observable):
                self.last = Array(keyspace[observable].key)
                return false
            case .ended:
                place += 1
                self.last = []
            }
        }
        return true
    }

    /// The keys that were found since the last call.
    mutating func takeFound() -> [ObservableHandle] {
        defer { found = [] }
        return found
    }

    /// The found keys that still have a value and may still be seen.
    func present(in keyspace: borrowing Keyspace) -> [ObservableHandle] {
        found.filter { keyspace.contains($0) && keyspace[$0].hasValue && isSeen($0, keyspace) }
    }

    /// All matching keys at this moment, in one go.
    static func all(
        _ patterns: [[UInt8]],
        for clearance: Clearance?,
        in keyspace: borrowing Keyspace
    ) -> [ObservableHandle] {
        var search = KeySearch(patterns, for: clearance)
        var visits = Int.max
        _ = search.goOn(keyspace, &visits)
        return search.found
    }

    /// Whether the search is for this key.
    func isWanted(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) -> Bool {
        keyspace[observable].hasValue && isSeen(observable, keyspace)
            && patterns.contains { Pattern.matches($0.span, keyspace[observable].key) }
    }

    private func isSeen(_ observable: ObservableHandle, _ keyspace: borrowing Keyspace) -> Bool {
        clearance?.permit(.subscribe, keyspace[observable].key) ?? true
    }
}
