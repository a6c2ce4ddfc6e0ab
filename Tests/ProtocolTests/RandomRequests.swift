// Random requests of every kind, right and wrong, as many clients might send them. What
// comes back is checked with the schema.

import TestSupport

/// Makes lines for the clients of one broker.
struct RandomRequests {
    private var chance: SeededRandom
    private var number = 0

    init(seed: UInt64) {
        chance = SeededRandom(seed: seed)
    }

    /// A request, typed words, or something that is neither.
    mutating func next() -> String {
        number += 1
        switch chance.below(20) {
        case 0: return words()
        case 1: return broken(request())
        default: return request()
        }
    }

    private mutating func request() -> String {
        var members = [("op", "\"\(chance.pick(Self.operations))\"")]
        let operation = String(members[0].1.dropFirst().dropLast())
        if chance.below(3) > 0 { members.append(("id", chance.pick(["\(number)", "\"i\(number)\""]))) }
        members += fields(of: operation)
        if chance.oneIn(12), let place = members.indices.dropFirst().randomElement(using: &chance) {
            switch chance.below(3) {
            case 0: members.remove(at: place)
            case 1: members[place].1 = chance.pick(Self.odd)
            default:
                members[place].0 = chance.pick(["key", "vlaue", "x-note", "if", "sub", "since", "write"])
            }
        }
        return Self.object(members)
    }

    private static func object(_ members: [(String, String)]) -> String {
        "{\(members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}"
    }

    private mutating func fields(of operation: String) -> [(String, String)] {
        switch operation {
        case "publish", "emit", "patch", "add", "delete": writing(operation)
        case "batch": [("writes", "[\((0..<chance.below(4)).map { _ in write() }.joined(separator: ","))]")]
        case "will": chance.oneIn(3) ? [] : [("write", write())]
        case "explain": [("write", write())]
        case "subscribe": subscription()
        case "trace": [("key", pattern()), ("sub", sub())]
        case "unsubscribe", "pause", "resume": [("sub", sub())]
        case "step": [("sub", sub()), ("count", "\(chance.below(3))")]
        case "ack": [("sub", sub()), ("revision", "\(chance.below(number))")]
        case "keys": [("key", pattern()), ("limit", "\(chance.below(5))")]
        case "serve", "unserve": [("key", "\"\(chance.pick(["s.a", "s.*", "s.**", "$s"]))\"")]
        case "call":
            [("key", "\"\(chance.pick(["s.a", "s.b", "nobody"]))\""), ("timeout", "\(chance.below(20))")]
        case "return": returning()
        case "hello": [("name", "\"\(chance.pick(["ada", "bob", "é", "#1", "a\\u0000", "a\\u200b"]))\"")]
        case "help": chance.oneIn(2) ? [] : [("about", "\"\(chance.pick(Self.operations + ["ls"]))\"")]
        case "get", "who", "why": [("key", key())]
        default: []
        }
    }

    private mutating func writing(_ operation: String) -> [(String, String)] {
        var fields = [("key", key())]
        if operation != "delete" { fields.append(("value", operation == "add" ? addend() : value())) }
        if ["add", "patch"].contains(operation), chance.oneIn(2) {
            fields.append(("field", "\"\(chance.pick(["/n", "/a/b", "/0", "/-", "", "n"]))\""))
        }
        if operation != "emit", chance.oneIn(6) { fields.append(("if", "\(chance.below(20))")) }
        if chance.oneIn(4) { fields.append(("cause", "\(chance.below(number))")) }
        if chance.oneIn(8) { fields.append(("origin", "\"\(chance.pick(["cart@hostB", "", "\\u00e9"]))\"")) }
        if operation == "publish", chance.oneIn(8) { fields.append(("ttl", "\(1 + chance.below(30))")) }
        if operation == "publish", chance.oneIn(8) { fields.append(("while", "\"connected\"")) }
        if chance.oneIn(20) { fields.append(("durable", "true")) }
        return fields
    }

    private mutating func write() -> String {
        let operation = chance.pick(["publish", "publish", "emit", "patch", "add", "delete", "get"])
        return Self.object([("op", "\"\(operation)\"")] + writing(operation))
    }

    private mutating func subscription() -> [(String, String)] {
        var fields = [("key", pattern())]
        if chance.oneIn(2) { fields.append(("sub", sub())) }
        let options = [
            ("initial", "false"), ("old", "true"), ("values", "false"), ("fields", #"["/n","/t"]"#),
            ("diff", "true"), ("where", #"{"/n":{">":3}}"#), ("delivery", "\"all\""), ("every", "5"),
            ("phase", "\(chance.below(10))"), ("ack", "true"), ("since", "\(chance.below(number))"),
            ("epoch", "\"0123456789abcdef\""), ("emits", "\(chance.below(number))"),
        ]
        for _ in 0..<chance.below(3) {
            let option = chance.pick(options)
            if !fields.contains(where: { $0.0 == option.0 }) { fields.append(option) }
        }
        return fields
    }

    private mutating func returning() -> [(String, String)] {
        let error = #"{"code":"\#(chance.pick(["no", "not_now", "No"]))","message":"m"}"#
        let call = ("call", "\"\(1 + chance.below(max(1, number / 20)))\"")
        return [call, chance.oneIn(4) ? ("error", error) : ("value", value())]
    }

    private mutating func words() -> String {
        chance.pick([
            "get k.0", "keys", "who k.1", "why k.0", "help", "help publish", "sync", "publish k.2 hello",
            "publish k.2 {a:1}", "exit", "get k.*", "# nothing", "", "subscribe k.* $broker.**", "delete k.9",
            "explain delete k.0", "explain publish k.0 1", "who $broker.stats", "get $broker.warnings",
            "get $broker.stats", "keys $broker.**", "step 1 2", "call s.a", "\u{7F}",
        ])
    }

    /// With a byte too many, too few or changed.
    private mutating func broken(_ line: String) -> String {
        var bytes = Array(line.utf8)
        let place = chance.below(bytes.count)
        switch chance.below(3) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(chance.pick(Array(#""{}[],:\#u{7F}\x"#.utf8)), at: place)
        default: bytes.removeLast(bytes.count - place)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func key() -> String {
        "\"\(chance.pick(["k.0", "k.1", "k.2", "k", "é.\\u200b", "$broker.stats", "$x", "k..0", "k.*"]))\""
    }

    private mutating func pattern() -> String {
        "\"\(chance.pick(["k.*", "**", "k.0", "$broker.clients.*", "$broker.stats", "*.1", "k*"]))\""
    }

    private mutating func sub() -> String { chance.pick(["1", "2", "\"s\"", "\"t\\n\"", "-7"]) }

    private mutating func value() -> String {
        chance.pick([
            "null", "1e400", "[ 1 ]", "\"a\\u2028\"", #"{"a":1,"a":2}"#, #"{"t":{"x":[]}}"#,
            #"{"n":\#(chance.below(9)),"t":"long enough to be worth a patch"}"#,
        ])
    }

    private mutating func addend() -> String {
        chance.pick(["1", "-2", "0.50", "1e400", "-0", "12e-3", "\"1\""])
    }

    private static let odd = [
        "null", "-1", "1.5", "true", "\"\"", "[]", "{}", "99999999999999999999", "\"\\ud800\"", "[1,",
    ]

    static let operations = [
        "hello", "publish", "publish", "publish", "emit", "patch", "add", "delete", "batch", "get",
        "keys",
        "subscribe", "subscribe", "unsubscribe", "unsubscribe", "pause", "resume", "resume", "step", "ack",
        "will", "serve", "unserve", "call", "call", "return", "return", "who", "why", "trace", "explain",
        "explain", "sync", "help", "nope",
    ]
}

extension SeededRandom {
    fileprivate mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &self) }
    fileprivate mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }
    fileprivate mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[below(elements.count)]
    }
}
