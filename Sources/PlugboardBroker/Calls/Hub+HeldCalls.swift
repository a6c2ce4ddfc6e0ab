// A call of what a plugin declares to serve, which nobody serves yet, waits for the plugin: so
// nobody has to know whether it is just being started.

import PlugboardMemory
import PlugboardWire

extension Hub {
    /// Has a call that nobody serves wait for the plugin that is to serve it; false where there is none.
    mutating func hold(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) -> Bool {
        let key = request.key.bytes(of: line)
        guard let reporter = supervision.reporter,
            let plugin = supervision.server(of: key, for: sessions[session].clearance?.plugin)
        else { return false }
        let bytes = request.value.count + Call.wrappingBytes
        guard calls.held.bytes + bytes <= HeldCalls.bytesMax else {
            throw Refusal(.limit, "too much waits for plugins to be started", hint: "try again later")
        }
        try Call.checkRoom(for: request, from: sessions[session], to: sessions[reporter])
        var event = delivery.takeLine()
        let call = begin(request, line, session, to: reporter, &event)
        calls.hold(call, event.bytes, for: plugin)
        if insight.isTracing { noteTrace(of: call, .held) }
        delivery.giveBack(event)
        weigh(plugin)
        return true
    }

    /// Somebody serves more than before: what waited for that is asked.
    mutating func askHeld() {
        for number in calls.held.numbers {
            guard let call = calls.find(number), let service = calls.server(of: call.key),
                let event = calls.held.event(of: number)
            else { continue }
            forgetHeld(call)
            let reporter = call.server
            calls.move(call, to: service.session, &sessions)
            calls.noteSent(call, by: service)
            if insight.isTracing { noteTrace(of: call, .asked) }
            Duties.noteEnd(for: reporter, &sessions, &delivery)
            var line = delivery.takeLine()
            line.append(event.span)
            send(line, to: service.session)
        }
    }

    /// A call waits no more, if it did.
    mutating func forgetHeld(_ call: Call) {
        guard let plugin = calls.letGo(call) else { return }
        weigh(plugin)
    }

    /// Refuses the calls that wait for a plugin which isn't to serve them any more.
    mutating func failHeld(for plugin: SupervisedPlugin) {
        guard plugin.heldCalls > 0 else { return }
        for number in calls.held.numbers {
            guard calls.held.plugin(of: number) === plugin, let call = calls.find(number),
                !plugin.willServe(call.key)
            else { continue }
            let what = plugin.isExpected ? "may not any more" : "isn't running"
            fail(call, Refusal(.noProvider, "the plugin \"\(plugin.name)\" that would serve it \(what)"))
        }
    }
}
