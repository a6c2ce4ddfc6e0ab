// What `up` says about a plugin on the bus: the value at `$broker.plugins.<name>`, on which the
// broker acts. Calls are answered with it, too.

import PlugboardMemory
import PlugboardWire

/// A child's state as JSON.
enum PluginReport {
    /// How many lines of a broken plugin's output it has.
    static let outputLinesMax = 10

    static func json(of process: SupervisedProcess) -> [UInt8] {
        var object = JSONObjectText().adding("name", string: process.name)
            .adding("state", string: word(for: process.state))
        if let pid = process.pid { object = object.adding("pid", number: pid) }
        object = object.adding("restarts", number: process.restarts)
            .adding("since", string: moment(process.sinceMilliseconds))
        if let problem = process.problem { object = object.adding("problem", string: problem) }
        if !process.isAlive, let text = process.endText { object = ending(object, text, of: process) }
        if process.state == .broken {
            object = object.adding("output", strings: process.log.lines.suffix(outputLinesMax))
        }
        if let seconds = process.idleSeconds {
            object = object.adding("start", string: StartRule.demand.rawValue).adding("idle", number: seconds)
        }
        if let permission = process.permission { object = object.adding("may", json: permission) }
        return object.bytes
    }

    static func word(for state: SupervisedProcess.State) -> String {
        switch state {
        case .running: "running"
        case .stopping: "stopping"
        case .waiting: "waiting"
        case .ended: "ended"
        case .broken: "broken"
        case .stopped: "stopped"
        case .idle: "idle"
        }
    }

    private static func ending(
        _ object: JSONObjectText,
        _ text: String,
        of process: SupervisedProcess
    ) -> JSONObjectText {
        let object = object.adding("end", string: text)
        switch process.end {
        case .exited(let status): return object.adding("status", number: status)
        case .signalled(let number): return object.adding("signal", number: number)
        case nil: return object
        }
    }

    private static func moment(_ milliseconds: UInt64) -> String {
        var text = ByteBuffer()
        text.append(milliseconds: milliseconds)
        return String(text.bytes)
    }
}

/// The keys that `up` uses.
enum PluginKey {
    private static let callFolder = "plugins"
    private static let stateFolder = "$broker.plugins"

    /// The key of a plugin's state. A byte that can't stand in a token of a key is written as `%`
    /// and two digits.
    static func state(of name: String) -> String {
        stateFolder + "." + name.utf8.map(spelled).joined()
    }

    /// The key to call for an action.
    static func call(_ action: PluginAction) -> String {
        "\(callFolder).\(action.rawValue)"
    }

    /// The action that a key stands for.
    static func action(_ key: String) -> PluginAction? {
        PluginAction.allCases.first { call($0) == key }
    }

    private static func spelled(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            String(UnicodeScalar(byte))
        default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
}
