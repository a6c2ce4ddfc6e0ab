// A request that looks at more keys than others can wait for. It is put off before it has changed anything,
// goes on with some keys in each turn, and is executed again when all were found. Its client's next lines
// wait meanwhile, so that replies keep their order.

import PlugboardMemory
import PlugboardWire

/// A request that is put off. Owned by `WorkUnderWay`.
final class Walk {
    let session: SessionHandle
    let request: Request
    /// The number of its line, and the line.
    let number: UInt64
    let line: [UInt8]
    /// The revision at its beginning.
    let since: UInt64
    /// What was decoded of the line; the hub's own while the request is executed.
    var decoder = RequestDecoder()
    private let patterns: [[UInt8]]
    private let countMax: Int
    /// Which pattern is looked for, and the last key that was looked at.
    private var place = 0
    private var last: [UInt8]
    private var found: [ObservableHandle] = []

    init(
        _ request: Request,
        _ line: Span<UInt8>,
        number: UInt64,
        from session: SessionHandle,
        _ patterns: [[UInt8]],
        after: [UInt8],
        countMax: Int,
        since: UInt64
    ) {
        (self.request, self.number, self.session, self.since) = (request, number, session, since)
        self.line = Array(line)
        (self.patterns, self.countMax) = (patterns, countMax)
        last = after
    }

    /// Looks at keys, as long as there are `visits` left. Returns whether it is done.
    func goOn(_ keyspace: borrowing Keyspace, _ clearance: Clearance?, _ visits: inout Int) -> Bool {
        while place < patterns.count {
            let (pattern, last) = (patterns[place], last)
            let walked = keyspace.walk(pattern.span, after: last.span, &visits) { observable in
                let isSeen = clearance?.permit(.subscribe, keyspace[observable].key) ?? true
                if isSeen { found.append(observable) }
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

    /// What was found and is still there, and may be seen.
    func present(in keyspace: borrowing Keyspace, to clearance: Clearance?) -> [ObservableHandle] {
        found.filter { observable in
            keyspace.contains(observable) && keyspace[observable].hasValue
                && clearance?.permit(.subscribe, keyspace[observable].key) ?? true
        }
    }

    /// Whether a key is one of those that are looked for.
    func isWanted(_ key: Span<UInt8>) -> Bool { patterns.contains { Pattern.matches($0.span, key) } }
}
