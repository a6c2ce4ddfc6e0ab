// What an observer asked to be spared: values that don't match, parts that it doesn't
// name, what it has been sent already. Few have one; it lasts as long as its
// subscription, which owns it, and everything it says follows from two values.

import PlugboardMemory
import PlugboardWire

/// What a subscription asked for with `where`, `fields` or `diff`.
final class Filter {
    /// `where`.
    let conditions: Conditions?
    /// `fields`.
    let parts: JSONPointerSet?
    /// `diff`.
    let tellsDifferences: Bool
    /// Values of this revision and older ones may not have been sent: there were none at the
    /// start, or there was a gap.
    var unsentRevision: UInt64
    /// Values of this revision and older ones may have been hidden: rights have changed since.
    private(set) var hiddenRevision: UInt64 = 0
    /// What was asked for, as it was written.
    private let text: [UInt8]

    /// The filter of the `subscribe` that was just decoded; nil where it has none. `revision` is
    /// the bus's.
    init?(
        _ decoder: borrowing RequestDecoder,
        _ line: Span<UInt8>,
        revision: UInt64
    ) {
        let options = decoder.options
        guard decoder.conditions != nil || decoder.parts != nil || options.differences else { return nil }
        (conditions, parts) = (decoder.conditions, decoder.parts)
        tellsDifferences = options.differences
        unsentRevision = options.initial ? 0 : revision
        // JSON text holds no zero byte, so the two can't be taken for others.
        text = Array(options.condition.bytes(of: line)) + [0] + Array(options.fields.bytes(of: line))
    }

    /// What asking any filter costs.
    static let stepsMin = 4

    /// What it takes up, about.
    var bytes: Int { text.count }

    /// What holding a value of so many bytes against it costs at most, about, in observers that are told an
    /// event meanwhile: for conditions and names of parts a step for every two bytes of their text, for
    /// reading the value one for every sixteen, and for finding what differs one for every eight.
    func steps(for valueCount: Int) -> Int {
        Self.stepsMin + text.count / 2 + valueCount / (tellsDifferences ? 8 : 16)
    }

    /// What its observer may see is another from here on.
    func noteHidden(upTo revision: UInt64) {
        hiddenRevision = revision
        unsentRevision = max(unsentRevision, revision)
    }

    /// Whether another asks for just what this one does, and in the same words.
    @inline(__always)
    func asksTheSame(as other: Filter) -> Bool {
        self === other || text == other.text && tellsDifferences == other.tellsDifferences
    }
}

/// What an observer is told of an event.
enum Telling {
    /// Nothing: it did not ask for it.
    case nothing
    /// The event as it is.
    case event
    /// That the value matches no longer.
    case leaving
    /// Parts of the value or a patch, in place of it.
    case change
}

/// What an event, or a value that was owed, came to for the filter that it was held against last: the next
/// observer who asks for the same is told the same.
struct Judgement {
    /// The event's number in the turn's log; of a value that was owed its revision.
    private var number: UInt64 = 0
    /// The value before one that was owed; it also tells which key that is of.
    private var held: HeldBytes?
    private var filter: Filter?
    private var wasSent = false
    private var telling = Telling.nothing

    init() {}

    /// What is known already for a filter; nil where it has to be looked at.
    @inline(__always)
    func telling(_ number: UInt64, since held: HeldBytes?, wasSent: Bool, _ filter: Filter) -> Telling? {
        guard self.number == number, self.held === held, self.wasSent == wasSent, let judged = self.filter,
            filter.asksTheSame(as: judged)
        else { return nil }
        return telling
    }

    /// Keeps what was found, along with the piece of a `change` that lies in the hub.
    mutating func keep(
        _ telling: Telling,
        _ number: UInt64,
        since held: HeldBytes?,
        wasSent: Bool,
        _ filter: Filter
    ) {
        (self.number, self.wasSent, self.telling) = (number, wasSent, telling)
        (self.held, self.filter) = (held, filter)
    }

    /// The piece is another's from now on.
    mutating func forget() { (number, held) = (0, nil) }
}
