// An event of a key on its way to observers. The key, the value before and the author's text are added where it
// is told; see `KeyTexts.swift` and `LentText`.

import PlugboardMemory
import PlugboardWire

/// What is told of a write.
struct News: ~Escapable {
    let event: KeyEvent
    let observable: ObservableHandle
    let revision: UInt64
    let value: Span<UInt8>
    let author: AuthorHandle
    let cause: WriteCause
    let reason: EventReason?
    /// What will end the value, as text for the event; empty if nothing will.
    var ending: Span<UInt8>

    @inline(__always)
    @_lifetime(copy value)
    init(
        _ event: KeyEvent,
        of observable: ObservableHandle,
        _ revision: UInt64,
        to value: Span<UInt8>,
        by author: AuthorHandle,
        _ cause: WriteCause,
        _ reason: EventReason?
    ) {
        self.event = event
        self.observable = observable
        self.revision = revision
        self.value = value
        self.author = author
        self.cause = cause
        self.reason = reason
        ending = Span()
    }

    /// All that the event tells. `old` is the value before.
    @inline(__always)
    @_lifetime(copy self, copy key, copy old, copy by)
    func tail(_ key: Span<UInt8>, old: Span<UInt8>, by: Span<UInt8>) -> EventTail {
        var tail = EventTail(
            key: key,
            revision: revision,
            value: value,
            old: event == .emit ? Span() : old,
            by: by,
            cause: cause,
            reason: reason
        )
        tail.ending = ending
        return tail
    }
}
