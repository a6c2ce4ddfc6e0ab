// Calls that end without an answer: which, and why. Nothing is told or taken out here: the hub does that with
// each, in this order.

import PlugboardWire

/// A call that is to end.
struct CallEnding {
    let call: Call
    /// What its caller is told; nil where that has left.
    let refusal: Refusal?

    /// A call has waited long enough, if it still waits.
    static func late(_ number: UInt64, _ calls: borrowing Calls) -> [CallEnding] {
        guard let call = calls.find(number) else { return [] }
        call.deadline = nil
        let plugin = calls.held.plugin(of: number)
        let what = plugin.map { "the plugin \"\($0.name)\" didn't serve it" } ?? "no answer came"
        return [CallEnding(call: call, refusal: Refusal(.timeout, "\(what) within \(call.timeout) ms"))]
    }

    /// What a client asked that leaves, and what it was asked.
    static func all(of session: borrowing Session) -> [CallEnding] {
        guard let duties = session.duties else { return [] }
        // Callers hear of it in the order in which they asked.
        let unanswered = duties.toAnswer.sorted { $0.number < $1.number }
        return duties.made.reversed().map { CallEnding(call: $0, refusal: nil) }
            + unanswered.map { CallEnding(call: $0, refusal: .providerGone) }
    }

    /// What a client asked, or was asked, that it isn't permitted any more.
    static func forbidden(to session: borrowing Session) -> [CallEnding] {
        guard let duties = session.duties else { return [] }
        let mayNotCall = Refusal(.forbidden, "the policy does not let this client call it any more")
        let mayNotServe = Refusal(.providerGone, "its server may not answer it any more")
        var endings: [CallEnding] = []
        for call in duties.made where !session.authorize(.call, call.key) {
            endings.append(CallEnding(call: call, refusal: mayNotCall))
        }
        for call in duties.toAnswer where !session.authorize(.serve, call.key) {
            endings.append(CallEnding(call: call, refusal: mayNotServe))
        }
        return endings
    }

    /// What waits for a plugin which isn't to serve it any more.
    static func unserved(by plugin: SupervisedPlugin, _ calls: borrowing Calls) -> [CallEnding] {
        guard plugin.heldCalls > 0 else { return [] }
        let what = plugin.isExpected ? "may not any more" : "isn't running"
        let refusal = Refusal(.noProvider, "the plugin \"\(plugin.name)\" that would serve it \(what)")
        var endings: [CallEnding] = []
        for number in calls.held.numbers where calls.held.plugin(of: number) === plugin {
            guard let call = calls.find(number), !plugin.willServe(call.key) else { continue }
            endings.append(CallEnding(call: call, refusal: refusal))
        }
        return endings
    }
}
