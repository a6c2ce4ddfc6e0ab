// A page of the keys that match a pattern, in their order, without observing them.

import PlugboardMemory
import PlugboardWire

/// `keys`.
enum ListKeys {
    /// Throws unless the pattern and the key `after` are well-formed.
    static func check(_ asked: AskedRequest, _ options: RequestOptions) throws(Refusal) {
        if asked.request.has(.key) { try Pattern.check(asked.request.key, asked.line) }
        if asked.request.has(.after) { try Key.check(options.after, asked.line) }
    }

    static func perform(
        _ asked: AskedRequest,
        _ requests: inout Requests,
        _ keyspace: borrowing Keyspace,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery,
        _ insight: inout Insight,
        _ deadlines: borrowing Deadlines
    ) {
        let (options, session) = (requests.decoder.options, asked.session)
        let search = KeySearch(
            [Array(asked.request.has(.key) ? asked.key : Pattern.everything)],
            for: sessions[session].clearance,
            after: asked.request.has(.after) ? Array(options.after.bytes(of: asked.line)) : [],
            countMax: options.limit + 1
        )
        guard let found = requests.look(for: asked, search, keyspace, &sessions, &insight) else { return }
        delivery.openReply(to: session, &sessions)
        var reply = sessions.takeOwn(of: session)
        ReplyEncoder.appendStart(.keys, id: asked.id, to: &reply)
        reply.append(#","keys":["#)
        for (index, observable) in found.prefix(options.limit).enumerated() {
            reply.append(index == 0 ? #"{"key":""# : #",{"key":""#)
            reply.append(keyspace[observable].key)
            reply.append(#"","revision":"#)
            reply.append(decimal: keyspace[observable].revision)
            EventEncoder.appendLive(keyspace.isLive(observable), to: &reply)
            deadlines.appendEnd(of: keyspace.bond(of: observable), to: &reply)
            reply.append("}")
        }
        reply.append(found.count > options.limit ? #"],"more":true}"# : #"],"more":false}"#)
        reply.append("\n")
        sessions.giveBack(reply, to: session)
    }
}
