// What an observer asked to be spared: values that don't match, parts that it doesn't
// name, what it has been sent already. Few have one; it lasts as long as its
// subscription, which owns it, and everything it says follows from two values.

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

    /// Reads the filter of a `subscribe`; nil where it has none. `revision` is the bus's.
    init?(
        _ request: Request,
        _ options: RequestOptions,
        _ line: UnsafeRawBufferPointer,
        revision: UInt64
    ) throws(Refusal) {
        let (condition, fields) = (options.condition, options.fields)
        guard request.has(.condition) || request.has(.fields) || options.differences else { return nil }
        conditions =
            request.has(.condition)
            ? try Conditions(where: condition.bytes(of: line), at: condition.start) : nil
        parts =
            request.has(.fields) ? try JSONPointerSet(array: fields.bytes(of: line), at: fields.start) : nil
        tellsDifferences = options.differences
        unsentRevision = options.initial ? 0 : revision
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
