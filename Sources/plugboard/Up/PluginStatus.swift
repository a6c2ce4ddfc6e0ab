// The state of a plugin as JSON: the value at `$broker.plugins.<name>`, which the broker applies. `up` also
// answers calls with it.

import PlugboardPosix
import PlugboardWire

/// A child's state as JSON.
enum PluginStatus {
    /// How many lines of output the state of a broken plugin has.
    static let outputLinesMax = 10
    /// How much of each line. With all of it, a few plugins would fill a line of the bus.
    static let outputCharactersMax = 400

    /// The state with the last output of a broken plugin.
    static func json(of process: SupervisedProcess) -> [UInt8] {
        let lines = process.log.lines.suffix(outputLinesMax)
        return json(of: process, output: process.state == .broken ? lines.map(beginning) : nil)
    }

    /// The states of all, without output: the answer is one line, however many there are.
    static func json(of processes: [SupervisedProcess]) -> [UInt8] {
        ObjectWriter.array(processes.map { json(of: $0, output: nil) })
    }

    private static func json(of process: SupervisedProcess, output: [String]?) -> [UInt8] {
        let text = process.isAlive ? nil : process.endText
        let (status, signal) = text == nil ? (nil, nil) : numbers(of: process.end)
        let object = ObjectWriter().adding("name", string: process.name)
            .adding("state", string: word(for: process.state))
            .adding("pid", process.pid)
            .adding("restarts", process.restarts)
            .adding("since", string: UTCTime.text(process.sinceMilliseconds))
            .adding("problem", string: process.problem)
            .adding("end", string: text).adding("status", status).adding("signal", signal)
        let start = process.terms.isOff ? StartRule.never : process.idleSeconds == nil ? nil : .demand
        return
            (output.map { object.adding("output", strings: $0) } ?? object)
            .adding("start", string: start?.rawValue)
            .adding("idle", process.idleSeconds)
            .adding("may", json: process.permission).bytes
    }

    /// Counted in scalars, because one character may have any number of them.
    private static func beginning(of line: String) -> String {
        let scalars = line.unicodeScalars
        guard scalars.count > outputCharactersMax else { return line }
        return String(scalars.prefix(outputCharactersMax - 1)) + "…"
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

    private static func numbers(of end: ChildEnd?) -> (status: Int32?, signal: Int32?) {
        switch end {
        case .exited(let status): (status, nil)
        case .signalled(let number): (nil, number)
        case nil: (nil, nil)
        }
    }

}

/// The keys that `up` uses.
enum PluginKey {
    private static let callFolder = "plugins"
    private static let stateFolder = "$broker.plugins"

    /// The key of a plugin's state.
    static func state(of name: String) -> String {
        stateFolder + "." + ClientName.token(name)
    }

    /// The key to call for an action.
    static func call(_ action: PluginAction) -> String {
        "\(callFolder).\(action.rawValue)"
    }

    /// The action that a key stands for.
    static func action(_ key: String) -> PluginAction? {
        PluginAction.allCases.first { call($0) == key }
    }
}
