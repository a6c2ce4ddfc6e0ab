// Calls that end without an answer: which ones, and why. Nothing is sent or removed here. The hub does that
// for each call, in this order.

import PlugboardWire

/// A call that has to end.
struct CallEnding {
    let call: PendingCall
    /// The reply to its caller; nil if the caller has left.
    let refusal: Refusal?

    /// A call has timed out, if it still waits.
    static func late(_ number: UInt64, _ calls: borrowing Calls) -> [CallEnding] {
        guard let call = calls.find(number) else { return [] }
        call.deadline = nil
        let plugin = calls.held.plugin(of: number)
        let what = plugin.map { "the plugin \"\($0.name)\" didn't serve it" } ?? "no answer came"
        return [CallEnding(call: call, refusal: Refusal(.timeout, "\(what) within \(call.timeout) ms"))]
    }

    /// The calls that a leaving client made.
    static func made(by session: borrowing Session) -> [CallEnding] {
        session.duties?.made.reversed().map { CallEnding(call: $0, refusal: nil) } ?? []
    }

    /// The calls that a client had to answer, and won't. Callers are told in the order of their calls.
    static func unanswered(by session: borrowing Session) -> [CallEnding] {
        guard let duties = session.duties else { return [] }
        let unanswered = duties.toAnswer.sorted { $0.number < $1.number }
        return unanswered.map { CallEnding(call: $0, refusal: .providerGone) }
    }

    /// The calls of a client, made or to be answered, that aren't permitted any more.
    static func forbidden(to session: borrowing Session) -> [CallEnding] {
        guard let duties = session.duties else { return [] }
        let mayNotCall = Refusal(.forbidden, "the policy does not let this client call it any more")
        let mayNotServe = Refusal(.providerGone, "its server may not answer it any more")
        var endings: [CallEnding] = []
        for call in duties.made where !session.authorize(.call, call.key.span) {
            endings.append(CallEnding(call: call, refusal: mayNotCall))
        }
        for call in duties.toAnswer where !session.authorize(.serve, call.key.span) {
            endings.append(CallEnding(call: call, refusal: mayNotServe))
        }
        return endings
    }

    /// The held calls that a plugin won't serve any more.
    static func unserved(by plugin: SupervisedPlugin, _ calls: borrowing Calls) -> [CallEnding] {
        guard plugin.heldCalls > 0 else { return [] }
        let what = plugin.isExpected ? "may not any more" : "isn't running"
        let refusal = Refusal(.noProvider, "the plugin \"\(plugin.name)\" that would serve it \(what)")
        var endings: [CallEnding] = []
        for number in calls.held.numbers where calls.held.plugin(of: number) === plugin {
            guard let call = calls.find(number), !plugin.willServe(call.key.span) else { continue }
            endings.append(CallEnding(call: call, refusal: refusal))
        }
        return endings
    }
}
