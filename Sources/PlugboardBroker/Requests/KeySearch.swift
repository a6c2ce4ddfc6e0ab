// A search for the keys that match a request's patterns, whole or in steps.

import PlugboardMemory
import PlugboardWire

/// A search for keys, and how far it is. It doesn't find those whose time is over.
struct KeySearch {
    /// So many of those whose time is over are passed by in one slice: they are ended then.
    private static let expiredMax = 256
    private let patterns: [[UInt8]]
    private let clearance: Clearance?
    private let countMax: Int
    /// The present pattern, and the last key that was looked at.
    private var place = 0
    private var last: [UInt8]
    private var found: [ObservableHandle] = []
    /// Those whose time is over, though they are still there.
    private var expired: [ObservableHandle] = []

    /// Searches for at most `countMax` keys that have a value, come after a key, and may be seen by a client.
    init(_ patterns: [[UInt8]], for clearance: Clearance?, after: [UInt8] = [], countMax: Int = .max) {
        (self.patterns, self.clearance, self.countMax) = (patterns, clearance, countMax)
        last = after
    }

    /// Looks at keys while `visits` are left. Returns whether it is done.
    mutating func goOn(
        _ keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines,
        _ visits: inout Int
    ) -> Bool {
        while place < patterns.count {
            let (pattern, last) = (patterns[place], last)
            let walked = keyspace.walk(pattern.span, after: last.span, &visits) { observable in
                if deadlines.isOver(keyspace.bond(of: observable)) {
                    expired.append(observable)
                } else if isSeen(observable, keyspace) {
                    found.append(observable)
                }
                return found.count < countMax && expired.count < Self.expiredMax
            }
            switch walked {
            case .stopped:
                guard found.count < countMax, let observable = expired.last else { return true }
                self.last = Array(keyspace[observable].key)
                return false
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

    /// What it passed by since that was taken last, because its time is over.
    mutating func takeExpired() -> [ObservableHandle] {
        defer { expired = [] }
        return expired
    }

    /// The found keys that still have a value and may still be seen.
    func present(in keyspace: borrowing Keyspace, _ deadlines: borrowing Deadlines) -> [ObservableHandle] {
        found.filter {
            keyspace.contains($0) && keyspace[$0].hasValue && isSeen($0, keyspace)
                && !deadlines.isOver(keyspace.bond(of: $0))
        }
    }

    /// All matching keys at this moment, in one go.
    static func all(
        _ patterns: [[UInt8]],
        for clearance: Clearance?,
        in keyspace: borrowing Keyspace,
        _ deadlines: borrowing Deadlines
    ) -> [ObservableHandle] {
        var search = KeySearch(patterns, for: clearance)
        var visits = Int.max
        while !search.goOn(keyspace, deadlines, &visits) { _ = search.takeExpired() }
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
