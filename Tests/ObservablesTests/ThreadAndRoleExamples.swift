// The examples of the documentation, continued from Examples.swift: observable threads, roles
// and the mediator.

import Observables
import Synchronization

enum ThreadExample {
    nonisolated protocol ProgressObserver: Observer { func progressed(to percent: Int) }

    final class Import: ObservableThread, @unchecked Sendable {
        override func main() {
            for percent in [0, 50, 100] where !isStopped {
                withObservers { (observer: any ProgressObserver) in observer.progressed(to: percent) }
            }
        }
    }

    final class Log: ProgressObserver, Sendable {
        func progressed(to percent: Int) { print("imported", percent, "%") }
    }

    @MainActor final class ProgressBar: @MainActor ProgressObserver {
        var percent = 0
        @MainActor func progressed(to percent: Int) { self.percent = percent }
    }

    static func run(_ log: Log, _ bar: ProgressBar) throws {
        let work = Import()
        work.add(log)  // on the thread itself
        work.add(bar, on: .mainActor)  // on the main actor
        try work.start()
        work.join()
    }

    static func run() async throws {
        let bar = ProgressBar()
        try run(Log(), bar)
        while await MainActor.run(body: { bar.percent < 100 }) { await Task.yield() }
    }
}

enum KeyedThreadExample {
    nonisolated protocol SensorObserver: Observer {
        func sensorChanged(_ change: KeyedChange<String, Int>)
    }

    actor Average: SensorObserver {
        private(set) var last: [String: Int] = [:]

        nonisolated func sensorChanged(_ change: KeyedChange<String, Int>) {
            assumeIsolated { $0.last[change.key] = change.new }
        }
    }

    static func measure(_ average: Average) throws {
        let sensors = KeyedObservableThread()
        sensors.add(average, keys: ["kitchen", "cellar"], on: .actor(average))
        try sensors.start()
        sensors.perform {
            sensors.withObservers(key: "cellar", old: 11, new: 12) { (observer: any SensorObserver, change) in
                observer.sensorChanged(change)
            }
        }
        sensors.stop()
        sensors.join()
    }

    static func run() async throws {
        let average = Average()
        try measure(average)
        while await average.last.isEmpty { await Task.yield() }
        print(await average.last)
    }
}

enum RolesExample {
    nonisolated protocol TemperatureObserver: Observer, Sendable { func temperatureChanged(to celsius: Int) }

    final class Thermometer: ConcretePublisher, Sendable {
        let observable = ThreadSafeObservable()

        func read(_ celsius: Int) {
            withObservers { (observer: any TemperatureObserver) in
                observer.temperatureChanged(to: celsius)
            }
        }
    }

    nonisolated final class Display: TemperatureObserver, ConcreteObserver {
        var publishers: [any Publisher<any SendableObject>] { [thermometer] }
        private let thermometer: Thermometer

        init(_ thermometer: Thermometer) { self.thermometer = thermometer }

        func temperatureChanged(to celsius: Int) { print("it is", celsius, "°C") }
    }

    static func run() {
        let thermometer = Thermometer()
        let display = Display(thermometer)
        display.startObserving()
        thermometer.read(21)
        display.stopObserving()
    }
}

enum MediatorExample {
    typealias TemperatureObserver = RolesExample.TemperatureObserver
    typealias Thermometer = RolesExample.Thermometer

    nonisolated protocol WindowObserver: Observer, Sendable { func windowChanged(isOpen: Bool) }
    nonisolated protocol HeatingObserver: Observer, Sendable { func heat(_ isOn: Bool) }

    final class Window: ConcretePublisher, Sendable {
        let observable = ThreadSafeObservable()

        func set(isOpen: Bool) {
            withObservers { (observer: any WindowObserver) in observer.windowChanged(isOpen: isOpen) }
        }
    }

    nonisolated final class Thermostat: Mediator, TemperatureObserver, WindowObserver {
        let observable = ThreadSafeObservable()
        var publishers: [any Publisher<any SendableObject>] { [thermometer, window] }
        private let thermometer: Thermometer
        private let window: Window
        private let state = Mutex((celsius: 20, isOpen: false))

        init(_ thermometer: Thermometer, _ window: Window) {
            self.thermometer = thermometer
            self.window = window
        }

        func temperatureChanged(to celsius: Int) { decide { $0.celsius = celsius } }
        func windowChanged(isOpen: Bool) { decide { $0.isOpen = isOpen } }

        private func decide(_ change: (inout (celsius: Int, isOpen: Bool)) -> Void) {
            let isOn = state.withLock { state in
                change(&state)
                return state.celsius < 20 && !state.isOpen
            }
            withObservers { (observer: any HeatingObserver) in observer.heat(isOn) }
        }
    }

    final class Boiler: HeatingObserver {
        func heat(_ isOn: Bool) { print(isOn ? "heating" : "off") }
    }

    static func run() {
        let thermometer = Thermometer()
        let window = Window()
        let thermostat = Thermostat(thermometer, window)
        let boiler = Boiler()
        thermostat.startObserving()
        thermostat.add(boiler)
        thermometer.read(18)  // heating
        window.set(isOpen: true)  // off
    }
}
