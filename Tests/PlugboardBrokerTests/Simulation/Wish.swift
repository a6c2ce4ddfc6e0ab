// What the clients of a simulation can ask for, and how each request is spelled.

import PlugboardWire

/// A request that a client wants to make.
enum Wish {
    /// What a value is bound to: its connection, or a time in milliseconds.
    enum Bond: Equatable {
        case connection
        case time(Int)
    }

    /// A write or an emit in a batch.
    struct Part {
        let key: String
        let value: String
        var isEvent = false
    }

    case hello
    /// `condition` is the revision in `if`.
    case publish(key: String, value: String, condition: UInt64?)
    /// Publishes a bound value.
    case bind(key: String, value: String, Bond)
    case patch(key: String, value: String)
    case delete(key: String, condition: UInt64?)
    case batch([Part])
    case emit(key: String, value: String)
    case get(key: String)
    case subscribe(SubscriptionPlan)
    case unsubscribe(String)
    case pause(String)
    case resume(String)
    case step(String)
    case acknowledge(String, UInt64)
    case sync
    /// Asks about the bus and changes nothing: an operation with its fields.
    case look(String, String)
    case call(key: String, value: String, timeout: Int?)
    case serve(String)
    case unserve(String)
    /// A server's answer to a call: a value, or the code of an error.
    case answer(call: String, value: String?, code: String)
    /// Sets a will: a value, or an event if `isEvent`.
    case will(key: String, value: String, isEvent: Bool)
    case forgetWill
    case goodbye

    /// The keys that it writes, with their values.
    var writes: [(key: String, value: String?)] {
        switch self {
        case .publish(let key, let value, _), .patch(let key, let value), .bind(let key, let value, _):
            [(key, value)]
        case .delete(let key, _): [(key, nil)]
        case .batch(let parts): parts.filter { !$0.isEvent }.map { ($0.key, $0.value) }
        default: []
        }
    }

    /// What it emits, each with its place in its batch.
    var emits: [(key: String, value: String, place: Int)] {
        switch self {
        case .emit(let key, let value): [(key, value, 0)]
        case .batch(let parts):
            parts.enumerated().filter { $0.element.isEvent }.map {
                ($0.element.key, $0.element.value, $0.offset)
            }
        default: []
        }
    }

    /// The value that its will would write.
    var will: [(key: String, value: String?)] {
        if case .will(let key, let value, false) = self { [(key, value)] } else { [] }
    }

    /// Whether it may say who wrote it first.
    var mayHaveOrigin: Bool {
        switch self {
        case .publish, .patch, .delete, .emit: true
        default: false
        }
    }

    /// The request as a line, without the line feed.
    func line(id: Int, _ options: String) -> String {
        let rest = #","id":\#(id)\#(options)}"#
        func named(_ operation: String, _ fields: String) -> String {
            #"{"op":"\#(operation)"\#(fields)\#(rest)"#
        }
        func conditional(_ condition: UInt64?) -> String { condition.map { #","if":\#($0)"# } ?? "" }
        return switch self {
        case .hello: named("hello", "")
        case .publish(let key, let value, let condition):
            named("publish", #","key":"\#(key)","value":\#(value)\#(conditional(condition))"#)
        case .bind(let key, let value, .connection):
            named("publish", #","key":"\#(key)","value":\#(value),"while":"connected""#)
        case .bind(let key, let value, .time(let milliseconds)):
            named("publish", #","key":"\#(key)","value":\#(value),"ttl":\#(milliseconds)"#)
        case .patch(let key, let value): named("patch", #","key":"\#(key)","value":\#(value)"#)
        case .delete(let key, let condition): named("delete", #","key":"\#(key)"\#(conditional(condition))"#)
        case .batch(let parts):
            named("batch", #","writes":[\#(parts.map(\.text).joined(separator: ","))]"#)
        case .emit(let key, let value): named("emit", #","key":"\#(key)","value":\#(value)"#)
        case .get(let key): named("get", #","key":"\#(key)""#)
        case .subscribe(let plan): named("subscribe", plan.fields)
        case .unsubscribe(let sub): named("unsubscribe", #","sub":"\#(sub)""#)
        case .pause(let sub): named("pause", #","sub":"\#(sub)""#)
        case .resume(let sub): named("resume", #","sub":"\#(sub)""#)
        case .step(let sub): named("step", #","sub":"\#(sub)""#)
        case .acknowledge(let sub, let revision): named("ack", #","sub":"\#(sub)","revision":\#(revision)"#)
        case .sync: named("sync", "")
        case .look(let operation, let fields): named(operation, fields)
        case .call(let key, let value, let timeout):
            named(
                "call", #","key":"\#(key)","value":\#(value)\#(timeout.map { #","timeout":\#($0)"# } ?? "")"#)
        case .serve(let pattern): named("serve", #","key":"\#(pattern)""#)
        case .unserve(let pattern): named("unserve", #","key":"\#(pattern)""#)
        case .answer(let call, let value?, _): named("return", #","call":"\#(call)","value":\#(value)"#)
        case .answer(let call, nil, let code):
            named("return", #","call":"\#(call)","error":{"code":"\#(code)","message":"no"}"#)
        case .will(let key, let value, let isEvent):
            named("will", #","write":\#(Part(key: key, value: value, isEvent: isEvent).text)"#)
        case .forgetWill: named("will", "")
        case .goodbye: named("goodbye", "")
        }
    }
}

extension Wish.Part {
    fileprivate var text: String {
        #"{"op":"\#(isEvent ? "emit" : "publish")","key":"\#(key)","value":\#(value)}"#
    }
}

/// A subscription that a client wants, and in which form.
struct SubscriptionPlan {
    var sub: String
    var patterns: [String]
    var isInitial = true
    var isAll = false
    var hasOld = false
    var hasWhen = false
    var every = 0
    var phase = 5
    var acknowledges = false
    /// The filter, and the form of the events.
    var narrowing: Narrowing?
    /// The revision up to which it knows everything, and its epoch.
    var since: (revision: UInt64, epoch: String)?

    var fields: String {
        var text = #","sub":"\#(sub)","keys":[\#(patterns.map { "\"\($0)\"" }.joined(separator: ","))]"#
        if !isInitial { text += #","initial":false"# }
        if hasOld { text += #","old":true"# }
        if hasWhen { text += #","when":true"# }
        if isAll { text += #","delivery":"all""# }
        if every > 0 { text += #","every":\#(every)"# }
        if phase != 5 { text += #","phase":\#(phase)"# }
        if acknowledges { text += #","ack":true"# }
        if let narrowing { text += narrowing.fields }
        if let since { text += #","since":\#(since.revision),"epoch":"\#(since.epoch)""# }
        return text
    }

    func matches(_ key: String) -> Bool {
        let key = Array(key.utf8)
        return patterns.contains { Pattern.matches(Array($0.utf8).span, key.span) }
    }
}
