"""stub"""
class Plots:
    def __init__(self, run): self.run = run
