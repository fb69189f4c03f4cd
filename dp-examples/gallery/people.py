"""Made-up people: python3 people.py > people.csv"""
import math, random
random.seed(7)
print("id,age,sex,hours,education,job,income")
jobs = ["clerk", "engineer", "farmer", "nurse", "teacher"]
for i in range(20_000):
    age = min(90, max(17, round(random.gauss(42, 14))))
    sex = random.choice(["female", "male"])
    job = random.choices(jobs, [30, 20, 10, 20, 20])[0]
    education = min(16, max(6, round(random.gauss(11, 2.2) + (2 if job in ("engineer", "teacher") else 0))))
    hours = 40 if random.random() < 0.45 else min(99, max(1, round(random.gauss(39, 12))))
    eta = -8.2 + 0.19 * age - 0.0019 * age**2 + 0.22 * education + 0.03 * hours + (0.5 if sex == "male" else 0)
    eta += {"clerk": -0.4, "engineer": 0.9, "farmer": -0.8, "nurse": 0.1, "teacher": 0.2}[job]
    income = "high" if random.random() < 1 / (1 + math.exp(-eta)) else "low"
    print(f"p{i},{age},{sex},{hours},{education},{job},{income}")
